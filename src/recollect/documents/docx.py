"""Word documents: paragraphs, tables as lines, headings by their style.

A Word document has no lines of its own: each paragraph and each row of a table counts as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING
from zipfile import BadZipFile, ZipFile

from recollect.documents.document import Document, LeftOut, SectionStart, one_line
from recollect.documents.file_types import DOCX

if TYPE_CHECKING:
    from docx.document import Document as Word
    from docx.table import Table

NEEDS = LeftOut("needs an extra", "DOCX is read after `pip install 'recollect-memory[documents]'`")
BROKEN = LeftOut("corrupt", "it is not a Word document that can be read")
# Unpacked, the text of a long book is 10 MB of XML, and pictures take the most.
MOST_UNPACKED = 200_000_000
MOST_ENTRIES = 10_000
MOST_CHARACTERS = 3_000_000
# XML_ERR_NO_MEMORY of libxml2.
NO_MEMORY = 2
HEADING = re.compile(r"(?i)heading ([1-9])$")


def document(raw: bytes) -> Document | LeftOut:
    try:
        import docx  # noqa: PLC0415  start-up time, and an extra
    except ImportError:
        return NEEDS
    left_out = _unpacked_too_large(raw)
    if left_out is not None:
        return left_out
    try:
        return _document(docx.Document(BytesIO(raw)))
    # On files that are broken, or made to break, it raises whatever its code runs into.
    except Exception as error:
        if isinstance(error, MemoryError) or getattr(error, "code", 0) == NO_MEMORY:
            raise  # `parser_process` ends
        return BROKEN


def _unpacked_too_large(raw: bytes) -> LeftOut | None:
    """The reason to leave out a file that unpacks to gigabytes. No more is unpacked than the zip's
    directory says, true or not."""
    try:
        with ZipFile(BytesIO(raw)) as packed:
            entries = packed.infolist()
    except (BadZipFile, OSError, ValueError, NotImplementedError):
        return BROKEN
    size = sum(entry.file_size for entry in entries)
    if size > MOST_UNPACKED or len(entries) > MOST_ENTRIES:
        return LeftOut("too large", f"it unpacks to {size:,} bytes in {len(entries):,} parts")
    return None


def _document(word: Word) -> Document | LeftOut:
    lines: list[str] = []
    sections: list[SectionStart] = []
    notes: tuple[str, ...] = ()
    size = 0
    for level, line in _lines(word):
        if level is not None and line:
            sections.append(SectionStart(len(lines), level, one_line(line)))
        lines.append(line)
        size += len(line)
        if size > MOST_CHARACTERS:
            notes = (f"It is read up to {MOST_CHARACTERS:,} characters.",)
            break
    if not size:
        return LeftOut("empty", "it has no text")
    headings = (section.title for section in sections if section.level <= 1)
    title = one_line(word.core_properties.title or "") or next(headings, "")
    return Document("\n".join(lines), DOCX, title=title, notes=notes, sections=tuple(sections))


def _lines(word: Word) -> Iterator[tuple[int | None, str]]:
    """Each line with the level of its heading, None for text; a blank one after each paragraph and
    table."""
    from docx.text.paragraph import Paragraph  # noqa: PLC0415  start-up time, and an extra

    levels = _levels(word)
    for block in word.iter_inner_content():
        if isinstance(block, Paragraph):
            text = block.text
            if not text.strip():
                continue
            level = levels.get(block._p.style or "")
            if level is not None:
                yield level, " ".join(text.split())
            else:
                yield from ((None, line) for line in text.split("\n"))
        else:
            yield from ((None, row) for row in _rows(block))
        yield None, ""


def _rows(table: Table) -> Iterator[str]:
    """The rows of a table as lines; a cell over several rows or columns comes once."""
    for row in table._tbl.tr_lst:
        cells = (
            " ".join(" ".join(paragraph.text for paragraph in cell.p_lst).split())
            for cell in row.tc_lst
        )
        yield " | ".join(cells)


def _levels(word: Word) -> dict[str, int]:
    """The level of each heading style; a title is above all headings. Made once: a paragraph that
    is asked for its style goes through all styles."""
    levels: dict[str, int] = {}
    for style in word.styles:
        name = style.name or ""
        found = HEADING.match(name)
        if found or name == "Title":
            levels[style.style_id] = int(found[1]) if found else 0
    return levels
