"""PDF: the text of its pages, each a part named `page 3`.

A PDF has no lines of its own: lines count those of the text that was read from it.
"""

from __future__ import annotations

import logging
import time
from io import BytesIO
from typing import TYPE_CHECKING

from recollect.documents.document import Document, LeftOut, Mark
from recollect.documents.file_types import PDF
from recollect.documents.markdown import shortened

if TYPE_CHECKING:
    from pypdf import PdfReader

NEEDS = LeftOut("needs an extra", "PDF is read after `pip install 'recollect[documents]'`")
# The longest handbooks have some 5,000; a few bytes can claim a million.
MOST_PAGES = 5_000
# What a cut file can hold: 2,000 cuts of 1,500 characters.
MOST_CHARACTERS = 3_000_000
# Operators of all pages together: a page of text has some thousands. Forms that draw forms that
# draw forms can take for ever.
MOST_OPERATORS = 5_000_000
# Of the processor's time, for what else there is to keep it busy with. It is looked at between
# pages, and ten times what a handbook takes.
MOST_SECONDS = 60.0
# What a compressed stream may grow to; that of a page full of text is 100 kB.
MOST_STREAM = 20_000_000


class TooMuch(Exception):
    """More operators than any document needs."""


class _Count:
    """Counts what pypdf reports, and stops it."""

    def __init__(self) -> None:
        self.operators = 0

    def __call__(self, *_: object) -> None:
        self.operators += 1
        if self.operators > MOST_OPERATORS:
            raise TooMuch


def document(raw: bytes) -> Document | LeftOut:
    try:
        import pypdf  # noqa: PLC0415  start-up time, and an extra
    except ImportError:
        return NEEDS
    try:
        # What it has to say of broken files, the reasons say.
        logging.getLogger("pypdf").setLevel(logging.CRITICAL)
        with pypdf.apply_configuration(zlib_maximum_output_length=MOST_STREAM):
            reader = pypdf.PdfReader(BytesIO(raw))
            if reader.is_encrypted and not reader.decrypt(""):
                return LeftOut("unreadable", "it is locked with a password")
            return _document(reader)
    except pypdf.errors.DependencyError:
        return LeftOut("unreadable", "it is encrypted in a way that cannot be read here")
    # On files that are broken, or made to break, it raises whatever its code runs into.
    except Exception:
        return LeftOut("corrupt", "it is not a PDF that can be read")


def _document(reader: PdfReader) -> Document | LeftOut:
    """The pages one after the other, as far as they can be read."""
    lines: list[str] = []
    marks: list[Mark] = []
    size, broken, count = 0, 0, _Count()
    until = time.thread_time() + MOST_SECONDS
    pages = len(reader.pages)
    number = 0
    while number < min(pages, MOST_PAGES) and size <= MOST_CHARACTERS:
        if count.operators > MOST_OPERATORS or time.thread_time() > until:
            break
        number += 1
        try:
            text = _clean(reader.pages[number - 1].extract_text(visitor_operand_before=count))
        except Exception:  # as above
            broken += 1
            continue
        if text:
            marks.append(Mark(len(lines), 1, f"page {number}"))
            lines += [*text.split("\n"), ""]
            size += len(text)
    notes = []
    if number < pages:
        notes.append(f"It is read up to page {number:,} of {pages:,}.")
    if broken:
        notes.append(f"{broken:,} of its {pages:,} pages cannot be read.")
    if not lines:
        reason = "none of its pages can be read" if broken else "its pages have no text: a scan?"
        return LeftOut("corrupt" if broken else "empty", reason)
    return Document(
        "\n".join(lines), PDF, title=_title(reader), notes=tuple(notes), marks=tuple(marks)
    )


def _clean(text: str) -> str:
    """Text that a memory can hold: fonts may map to anything."""
    plain = text.replace("\0", " ").replace("\r", "\n")
    return plain.encode("utf-8", errors="replace").decode("utf-8").strip()


def _title(reader: PdfReader) -> str:
    try:
        said = reader.metadata.title if reader.metadata else None
    except Exception:  # as broken as anything else in the file can be
        return ""
    return shortened(_clean(said)) if isinstance(said, str) else ""
