"""Source code: its definitions as sections, named `Class > method`.

Comments and decorators before a definition belong to it. Without a parser for the language a
section begins at a line without indentation after a blank line, and has no name.
"""

from __future__ import annotations

from itertools import pairwise

from recollect.documents.definitions import places
from recollect.documents.document import Document, SectionStart

# Lines that end a block begin none.
ENDS = ("}", ")", "]", "end", "fi", "done", "esac", "*/", "-->", "</")


def document(text: str, language: str) -> Document:
    found = places(text.encode(), language)
    if found is None:
        return Document(text, language, sections=blocks(text))
    return Document(text, language, sections=tuple(SectionStart(*place) for place in found))


def blocks(text: str) -> tuple[SectionStart, ...]:
    """The starts of blocks that blank lines and indentation set apart."""
    lines = enumerate(text.split("\n"))
    return tuple(
        SectionStart(number, 1, "")
        for (_, before), (number, line) in pairwise(lines)
        if line[:1].strip() and not before.strip() and not line.startswith(ENDS)
    )
