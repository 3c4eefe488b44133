"""One file on the disk as a document, or why it is none."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from errno import ELOOP
from pathlib import Path
from typing import NamedTuple

from recollect.documents import code, docx, file_types, html, markdown, notebook, pdf, rst
from recollect.documents.decoding import Decoded, decoded
from recollect.documents.document import Document, LeftOut, unreadable
from recollect.files import opened_regular

# From the first bytes on: `@generated`, and what Go, protoc and many others write.
GENERATED = re.compile(
    r"@generated\b|\b(?:code generated|generated (?:by|from))\b.*\bdo not (?:edit|modify)\b",
    re.IGNORECASE,
)
# The remark stands in the first comment.
FIRST_LINES = 10
# Code has some 40 characters a line, and hardly ever 100.
LONGEST_MEAN_LINE = 250
# A handful of lines says nothing of the mean; a program does not write so little.
LEAST_MINIFIED = 5_000
CHANGED = LeftOut("vanished", "it changed while it was read")


class Limits(NamedTuple):
    """How large a file may be, in bytes."""

    # A long book is 1 MB of text; what is larger is a log or data.
    text: int = 2_000_000
    # Most of it is pictures.
    document: int = 50_000_000
    # Nothing says that it is meant to be read.
    unknown: int = 200_000


DEFAULT = Limits()
OF_TEXT: dict[str, Callable[[str], Document | LeftOut]] = {
    file_types.MARKDOWN: markdown.document,
    file_types.RST: rst.document,
    file_types.HTML: html.document,
    file_types.NOTEBOOK: notebook.document,
}
OF_BYTES: dict[str, Callable[[bytes], Document | LeftOut]] = {
    file_types.PDF: pdf.document,
    file_types.DOCX: docx.document,
}


def read(path: Path, relative: str, limits: Limits = DEFAULT) -> Document | LeftOut:
    """The document at `path`. `relative` is its path below the folder: its name says what it is."""
    raw = contents(path, relative, limits)
    return raw if isinstance(raw, LeftOut) else parsed(raw, relative)


def contents(path: Path, relative: str, limits: Limits = DEFAULT) -> bytes | LeftOut:
    """The bytes of a file that is worth reading by its name and its size."""
    name = relative.rpartition("/")[2]
    if file_types.is_binary_name(name):
        return LeftOut("binary")
    if file_types.is_generated_name(name):
        return LeftOut("generated", "its name says so")
    raw = _bytes(Path(path), _limit(file_types.form_of(name), limits))
    return LeftOut("empty") if raw == b"" else raw


def parsed(raw: bytes, relative: str) -> Document | LeftOut:
    """The document that these bytes are, in a file of that name."""
    form = file_types.form_of(relative.rpartition("/")[2])
    return OF_BYTES[form](raw) if form in OF_BYTES else _of_text(raw, form)


def _limit(form: str, limits: Limits) -> int:
    if form in OF_BYTES:
        return limits.document
    return limits.text if form else limits.unknown


def _bytes(path: Path, limit: int) -> bytes | LeftOut:
    """What the file holds, opened once."""
    try:
        stream = opened_regular(path)
    except FileNotFoundError:
        return LeftOut("vanished")
    except ValueError:  # a NUL in the path
        return LeftOut("unreadable", "its name cannot be opened")
    except OSError as error:
        return LeftOut("link") if error.errno == ELOOP else unreadable(error)
    if stream is None:
        return LeftOut("special", "it is not a file any more")
    try:
        with stream:
            before = os.fstat(stream.fileno())
            if before.st_size > limit:
                return _too_large(before.st_size, limit)
            raw = stream.read(limit + 1)
            after = os.fstat(stream.fileno())
    except OSError as error:
        return unreadable(error)
    if len(raw) > limit or (before.st_size, before.st_mtime_ns) != (len(raw), after.st_mtime_ns):
        return CHANGED
    return raw


def _too_large(size: int, limit: int) -> LeftOut:
    return LeftOut("too large", f"it has {size:,} bytes; at most {limit:,} are read")


def _of_text(raw: bytes, form: str) -> Document | LeftOut:
    given = decoded(raw, html=form == file_types.HTML)
    if isinstance(given, LeftOut):
        if not form and given.reason == "not text":
            return LeftOut("unknown kind", given.words)
        return given
    if not given.text.strip():
        return LeftOut("empty", "it has nothing but white space")
    if form in file_types.CODE or form == file_types.DATA:
        left_out = _generated(given.text)
        if left_out is not None:
            return left_out
    found = _document(given, form)
    if isinstance(found, LeftOut):
        return found
    return found._replace(notes=(*given.notes, *found.notes)) if given.notes else found


def _document(given: Decoded, form: str) -> Document | LeftOut:
    if form in OF_TEXT:
        return OF_TEXT[form](given.text)
    if form in file_types.CODE:
        return code.document(given.text, form)
    return Document(given.text, form or file_types.TEXT)


def _generated(text: str) -> LeftOut | None:
    beginning = text[:5_000].split("\n", FIRST_LINES)[:FIRST_LINES]
    if any(GENERATED.search(line) for line in beginning):
        return LeftOut("generated", "its first lines say so")
    if len(text) > LEAST_MINIFIED and len(text) / (text.count("\n") + 1) > LONGEST_MEAN_LINE:
        return LeftOut("generated", "its lines are too long to be written by hand")
    return None
