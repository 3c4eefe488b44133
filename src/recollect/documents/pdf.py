"""PDF: the text of its pages, each a section named `page 3`.

A PDF has no lines of its own: lines count those of the text that was read from it.
"""

from __future__ import annotations

import logging
import time
from io import BytesIO
from typing import TYPE_CHECKING

from recollect.documents.document import Document, LeftOut, SectionStart, one_line
from recollect.documents.file_types import PDF

if TYPE_CHECKING:
    from pypdf import PdfReader

NEEDS = LeftOut("needs an extra", "PDF is read after `pip install 'recollect-memory[documents]'`")
# The longest handbooks have some 5,000; a few bytes can claim a million.
MOST_PAGES = 5_000
# 2,000 chunks of 1,500 characters, which are the most that one file becomes.
MOST_CHARACTERS = 3_000_000
# Operators of all pages together: a page of text has some thousands. Forms that draw forms that
# draw forms can go on for ever.
MOST_OPERATORS = 5_000_000
# Of processor time, less than `parser_process` allows: it is checked between pages, so that a file
# that is slow in other ways is read in part.
MOST_SECONDS = 20.0
# The largest size of an uncompressed stream; that of a page full of text is 100 kB.
MOST_STREAM = 20_000_000


class TooManyOperators(Exception):
    """More operators than any document needs."""


class _OperatorCount:
    """Counts the operators that pypdf reports, and stops it at the limit."""

    def __init__(self) -> None:
        self.operators = 0

    def __call__(self, *_: object) -> None:
        self.operators += 1
        if self.operators > MOST_OPERATORS:
            raise TooManyOperators


def document(raw: bytes) -> Document | LeftOut:
    try:
        import pypdf  # noqa: PLC0415  start-up time, and an extra
    except ImportError:
        return NEEDS
    try:
        # The reason says what is wrong with a broken file; pypdf need not log it.
        logging.getLogger("pypdf").setLevel(logging.CRITICAL)
        with pypdf.apply_configuration(zlib_maximum_output_length=MOST_STREAM):
            reader = pypdf.PdfReader(BytesIO(raw))
            if reader.is_encrypted and not reader.decrypt(""):
                return LeftOut("unreadable", "it is locked with a password")
            return _document(reader)
    except pypdf.errors.DependencyError:
        return LeftOut("unreadable", "it is encrypted in a way that cannot be read here")
    except MemoryError:
        raise  # `parser_process` ends
    # On files that are broken, or made to break, it raises whatever its code runs into.
    except Exception:
        return LeftOut("corrupt", "it is not a PDF that can be read")


def _document(reader: PdfReader) -> Document | LeftOut:
    """The text of the pages, as far as they can be read."""
    lines: list[str] = []
    sections: list[SectionStart] = []
    size, broken, count = 0, 0, _OperatorCount()
    until = time.thread_time() + MOST_SECONDS
    pages = len(reader.pages)
    number = 0
    while number < min(pages, MOST_PAGES) and size <= MOST_CHARACTERS:
        if count.operators > MOST_OPERATORS or time.thread_time() > until:
            break
        number += 1
        try:
            text = _clean(reader.pages[number - 1].extract_text(visitor_operand_before=count))
        except MemoryError:
            raise
        except Exception:  # as above
            broken += 1
            continue
        if text:
            sections.append(SectionStart(len(lines), 1, f"page {number}"))
            lines += [*text.split("\n"), ""]
            size += len(text)
    notes = []
    if number < pages:
        notes.append(f"It is read up to page {number:,} of {pages:,}.")
    if broken:
        notes.append(f"{broken:,} of its {pages:,} pages cannot be read.")
    if not lines:
        detail = "none of its pages can be read" if broken else "its pages have no text: a scan?"
        return LeftOut("corrupt" if broken else "empty", detail)
    return Document(
        "\n".join(lines), PDF, title=_title(reader), notes=tuple(notes), sections=tuple(sections)
    )


def _clean(text: str) -> str:
    """The text as a memory can hold it: fonts may map to any character."""
    plain = text.replace("\0", " ").replace("\r", "\n")
    return plain.encode("utf-8", errors="replace").decode("utf-8").strip()


def _title(reader: PdfReader) -> str:
    try:
        title = reader.metadata.title if reader.metadata else None
    except Exception:  # as broken as anything else in the file can be
        return ""
    return one_line(_clean(title)) if isinstance(title, str) else ""
