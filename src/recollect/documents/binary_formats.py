"""PDF and Word documents. Neither has lines: line numbers count those of the extracted text.

Each page of a PDF is a section named `page 3`. In a Word document each paragraph and each row of a
table is a line.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING
from zipfile import BadZipFile, ZipFile

from recollect.documents.document import Document, LeftOut, SectionStart, one_line
from recollect.documents.file_types import DOCX, PDF

if TYPE_CHECKING:
    from docx.document import Document as Word
    from docx.table import Table
    from pypdf import PdfReader

PDF_NEEDS = LeftOut(
    "needs an extra", "PDF is read after `pip install 'recollect-memory[documents]'`"
)
# The longest handbooks have about 5,000; a few bytes can claim a million.
MOST_PAGES = 5_000
# 2,000 chunks of 1,500 characters, the most for one file.
MOST_CHARACTERS = 3_000_000
# In all pages: a page of text has a few thousand; nested forms can repeat without end.
MOST_OPERATORS = 5_000_000
# Processor time, less than the parser process has: checked between pages, so that a slow file is
# read in part.
MOST_SECONDS = 20.0
MOST_STREAM = 20_000_000  # bytes of an unpacked stream; a page full of text has 100 kB


class TooManyOperators(Exception):
    """The pages have more operators than allowed."""


class _OperatorCount:
    """Counts the operators that pypdf reports; raises TooManyOperators at the limit."""

    def __init__(self) -> None:
        self.operators = 0

    def __call__(self, *_: object) -> None:
        self.operators += 1
        if self.operators > MOST_OPERATORS:
            raise TooManyOperators


def read_pdf(raw: bytes) -> Document | LeftOut:
    try:
        import pypdf  # noqa: PLC0415  start-up time, and an extra
    except ImportError:
        return PDF_NEEDS
    try:
        # The result reports broken files, so that pypdf need not log them.
        logging.getLogger("pypdf").setLevel(logging.CRITICAL)
        with pypdf.apply_configuration(zlib_maximum_output_length=MOST_STREAM):
            reader = pypdf.PdfReader(BytesIO(raw))
            if reader.is_encrypted and not reader.decrypt(""):
                return LeftOut("unreadable", "it is locked with a password")
            return _read_pages(reader)
    except pypdf.errors.DependencyError:
        return LeftOut("unreadable", "it is encrypted in a way that cannot be read here")
    except MemoryError:
        raise  # ends the parser process
    # Broken and malicious files can cause any exception.
    except Exception:
        return LeftOut("corrupt", "it is not a PDF that can be read")


def _read_pages(reader: PdfReader) -> Document | LeftOut:
    """Return the text of the pages that can be read."""
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
        except Exception:  # broken files can cause any exception
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
        "\n".join(lines),
        PDF,
        title=_pdf_title(reader),
        notes=tuple(notes),
        sections=tuple(sections),
    )


def _clean(text: str) -> str:
    """Replace characters that a memory cannot contain; fonts may map to any."""
    plain = text.replace("\0", " ").replace("\r", "\n")
    return plain.encode("utf-8", errors="replace").decode("utf-8").strip()


def _pdf_title(reader: PdfReader) -> str:
    try:
        title = reader.metadata.title if reader.metadata else None
    except Exception:  # broken files can cause any exception
        return ""
    return one_line(_clean(title)) if isinstance(title, str) else ""


# Word documents: paragraphs, tables as lines, headings by their style

DOCX_NEEDS = LeftOut(
    "needs an extra", "DOCX is read after `pip install 'recollect-memory[documents]'`"
)
DOCX_BROKEN = LeftOut("corrupt", "it is not a Word document that can be read")
# The unpacked text of a long book is 10 MB of XML; pictures are larger.
MOST_UNPACKED = 200_000_000
MOST_ENTRIES = 10_000
# XML_ERR_NO_MEMORY of libxml2.
NO_MEMORY = 2
HEADING_STYLE = re.compile(r"(?i)heading ([1-9])$")


def read_docx(raw: bytes) -> Document | LeftOut:
    try:
        import docx  # noqa: PLC0415  start-up time, and an extra
    except ImportError:
        return DOCX_NEEDS
    left_out = _unpacked_too_large(raw)
    if left_out is not None:
        return left_out
    try:
        return _read_word(docx.Document(BytesIO(raw)))
    # Broken and malicious files can cause any exception.
    except Exception as error:
        if isinstance(error, MemoryError) or getattr(error, "code", 0) == NO_MEMORY:
            raise  # ends the parser process
        return DOCX_BROKEN


def _unpacked_too_large(raw: bytes) -> LeftOut | None:
    """Return the reason to leave out a file that unpacks to gigabytes. The zip's directory limits
    what is unpacked, even if it is wrong."""
    try:
        with ZipFile(BytesIO(raw)) as packed:
            entries = packed.infolist()
    except (BadZipFile, OSError, ValueError, NotImplementedError):
        return DOCX_BROKEN
    size = sum(entry.file_size for entry in entries)
    if size > MOST_UNPACKED or len(entries) > MOST_ENTRIES:
        return LeftOut("too large", f"it unpacks to {size:,} bytes in {len(entries):,} parts")
    return None


def _read_word(word: Word) -> Document | LeftOut:
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
    """Yield each line with the level of its heading, None for text, and a blank line after each
    paragraph and table."""
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
    """Yield the rows of a table as lines; merged cells come once."""
    for row in table._tbl.tr_lst:
        cells = (
            " ".join(" ".join(paragraph.text for paragraph in cell.p_lst).split())
            for cell in row.tc_lst
        )
        yield " | ".join(cells)


def _levels(word: Word) -> dict[str, int]:
    """Return the level of each heading style; a title is above all headings. Computed once, because
    looking up a paragraph's style searches all styles."""
    levels: dict[str, int] = {}
    for style in word.styles:
        name = style.name or ""
        found = HEADING_STYLE.match(name)
        if found or name == "Title":
            levels[style.style_id] = int(found[1]) if found else 0
    return levels
