"""A title made of a text."""

from __future__ import annotations


def cut_title(text: str, most: int) -> str:
    """The text as a title of about so many characters: cut between words, where there are any."""
    return text if len(text) <= most else f"{text[:most].rsplit(' ', 1)[0]} …"
