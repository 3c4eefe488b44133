"""Source code: its definitions as parts, named `Class > method`.

Comments and decorators before a definition belong to it. Without a parser for the language a part
begins at a line without indentation after a blank line, and has no name.
"""

from __future__ import annotations

from itertools import pairwise

from recollect.documents.document import Document, Mark
from recollect.documents.parser_process import PARSERS, TooMuch

# Lines that end something do not begin anything.
ENDS = ("}", ")", "]", "end", "fi", "done", "esac", "*/", "-->", "</")


def document(text: str, language: str) -> Document:
    notes: tuple[str, ...] = ()
    try:
        marks = PARSERS.marks(text, language)
    except (TooMuch, OSError):
        marks = None
        notes = ("Its parser did not come to an end: it is cut at blank lines.",)
    if marks is None:
        marks = blocks(text)
    return Document(text, language, notes=notes, marks=marks)


def blocks(text: str) -> tuple[Mark, ...]:
    """Where blocks begin that blank lines and indentation set apart."""
    lines = enumerate(text.split("\n"))
    return tuple(
        Mark(number, 1, "")
        for (_, before), (number, line) in pairwise(lines)
        if line[:1].strip() and not before.strip() and not line.startswith(ENDS)
    )
