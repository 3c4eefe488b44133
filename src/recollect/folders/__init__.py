"""Folders whose files are memories: brought into step with the vault, once or as they change."""
