"""Folders of documents and code: which files count, what they say, where they are cut."""
