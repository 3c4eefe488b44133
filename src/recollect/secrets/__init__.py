"""Secrets: what credentials look like, and replacing them before anything is stored."""
