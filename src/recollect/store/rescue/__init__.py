"""Checks, salvage and repair of a vault file."""
