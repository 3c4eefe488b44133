"""Folders whose files are memories: which files count, and keeping the memories up to date."""
