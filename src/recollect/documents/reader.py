"""Reading a file as a document, or the reason why it is left out: its size, encoding or origin."""

from __future__ import annotations

import codecs
import os
import re
from errno import ELOOP
from pathlib import Path
from typing import NamedTuple, cast

from recollect.documents import definitions, file_types
from recollect.documents.document import Document, LeftOut, unix_lines, unreadable
from recollect.documents.markdown import Structure
from recollect.documents.parser_process import (
    BINARY_PARSERS,
    MOST_MEMORY,
    MOST_SECONDS,
    PARSERS,
    STRUCTURE,
    TEXT_PARSERS,
    Answer,
    ParserStopped,
)
from recollect.files import open_regular

# `@generated`, and the comments of Go, protoc and many others.
GENERATED = re.compile(
    r"@generated\b|\b(?:code generated|generated (?:by|from))\b.*\bdo not (?:edit|modify)\b",
    re.IGNORECASE,
)
FIRST_LINES = 10  # searched for such a comment
LONGEST_MEAN_LINE = 250  # code has about 40 characters per line
LEAST_MINIFIED = 5_000  # shorter texts are not checked for long lines
CHANGED = LeftOut("vanished", "it changed while it was read")

# Largest sizes in bytes. A long book is 1 MB of text; a larger file is a log or data.
LARGEST_TEXT = 2_000_000
LARGEST_BINARY = 50_000_000  # mostly pictures
LARGEST_UNKNOWN = 200_000  # it may not be text
# Characters of a text that is parsed in this process: the worst takes less than a second.
SMALL = 16_000
SMALL_IN_PLACE = (STRUCTURE, file_types.MARKDOWN, file_types.RST)
TOO_MUCH = LeftOut(
    "too large",
    f"reading it takes more than {MOST_SECONDS:.0f} seconds or {MOST_MEMORY >> 20:,} MB of memory",
)
NOT_FINISHED = "Its parser did not finish: it is split at blank lines."
# UTF-32 before UTF-16, whose mark is a prefix.
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Control characters that are rare in texts: all but tab, line ends, form feed and escape.
CONTROLS = bytes({*range(32), 127} - {9, 10, 11, 12, 13, 27})
HIGH = bytes(range(128, 256))
MOST_CONTROLS = 0.01  # share; some logs have a few, binary files 10 % or more
MOST_HIGH = 0.3  # share; French has 5 %, Russian in an old encoding 80 %, which would be misread
CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.I)


def read_bytes(path: Path, relative: str) -> bytes | LeftOut:
    """Read a file, unless its name or size is a reason to leave it out. `relative`: its path below
    the folder."""
    name = relative.rpartition("/")[2]
    if file_types.is_binary_name(name):
        return LeftOut("binary")
    if file_types.is_generated_name(name):
        return LeftOut("generated", "its name says so")
    file_type = file_types.type_of(name)
    limit = LARGEST_TEXT if file_type else LARGEST_UNKNOWN
    raw = _bytes(path, LARGEST_BINARY if file_type in BINARY_PARSERS else limit)
    return LeftOut("empty") if raw == b"" else raw


def parse(raw: bytes, relative: str) -> Document | LeftOut:
    """Parse the bytes of a file with this name."""
    file_type = file_types.type_of(relative.rpartition("/")[2])
    if file_type not in BINARY_PARSERS:
        return _parse_text(raw, file_type)
    try:
        return cast("Document | LeftOut", PARSERS.parse(file_type, raw))
    except ParserStopped:
        return TOO_MUCH


def structure(text: str) -> Structure:
    """Return the sections and tags of a Markdown text; none if its parser does not finish."""
    try:
        return cast(Structure, _run_parser(STRUCTURE, text))
    except ParserStopped:
        return Structure((), ())


def _run_parser(file_type: str, text: str) -> Answer:
    """Parse a text, in another process unless it is small. Raise ParserStopped."""
    if file_type in SMALL_IN_PLACE and len(text) <= SMALL:
        return TEXT_PARSERS[file_type](text)
    return PARSERS.parse(file_type, text.encode())


def _bytes(path: Path, limit: int) -> bytes | LeftOut:
    """Return the file's content, opening it once."""
    try:
        stream = open_regular(path)
    except (OSError, ValueError) as error:
        return not_opened(error)
    if stream is None:
        return LeftOut("special", "it is not a file any more")
    try:
        with stream:
            before = os.fstat(stream.fileno())
            if before.st_size > limit:
                size = f"it has {before.st_size:,} bytes; at most {limit:,} are read"
                return LeftOut("too large", size)
            raw = stream.read(limit + 1)
            after = os.fstat(stream.fileno())
    except OSError as error:
        return unreadable(error)
    if len(raw) > limit or (before.st_size, before.st_mtime_ns) != (len(raw), after.st_mtime_ns):
        return CHANGED
    return raw


def not_opened(error: OSError | ValueError) -> LeftOut:
    """Return the reason why a file could not be opened."""
    if isinstance(error, FileNotFoundError):
        return LeftOut("vanished")
    if isinstance(error, ValueError):  # a NUL in the path
        return LeftOut("unreadable", "its name cannot be opened")
    return LeftOut("link") if error.errno == ELOOP else unreadable(error)


def _parse_text(raw: bytes, file_type: str) -> Document | LeftOut:
    text = decode(raw, html=file_type == file_types.HTML)
    if isinstance(text, LeftOut):
        if not file_type and text.reason == "not text":
            return LeftOut("unknown kind", text.detail)
        return text
    if not text.text.strip():
        return LeftOut("empty", "it has nothing but white space")
    if file_type in file_types.CODE or file_type == file_types.DATA:
        left_out = _check_generated(text.text)
        if left_out is not None:
            return left_out
    document = _document(text.text, file_type)
    if isinstance(document, LeftOut):
        return document
    return document._replace(notes=(*text.notes, *document.notes)) if text.notes else document


def _document(text: str, file_type: str) -> Document | LeftOut:
    if file_type not in TEXT_PARSERS:
        return _plain_document(text, file_type)
    try:
        return cast("Document | LeftOut", _run_parser(file_type, text))
    except ParserStopped:
        if file_type in (file_types.HTML, file_types.NOTEBOOK):
            return TOO_MUCH
        return _plain_document(text, file_type)._replace(notes=(NOT_FINISHED,))


def _plain_document(text: str, file_type: str) -> Document:
    sections = definitions.blocks(text) if file_type in file_types.CODE else ()
    return Document(text, file_type or file_types.TEXT, sections=sections)


def _check_generated(text: str) -> LeftOut | None:
    beginning = text[:5_000].split("\n", FIRST_LINES)[:FIRST_LINES]
    if any(GENERATED.search(line) for line in beginning):
        return LeftOut("generated", "its first lines say so")
    if len(text) > LEAST_MINIFIED and len(text) / (text.count("\n") + 1) > LONGEST_MEAN_LINE:
        return LeftOut("generated", "its lines are too long to be written by hand")
    return None


class Decoded(NamedTuple):
    """A text with `\\n` as line ends, and notes on its encoding."""

    text: str
    notes: tuple[str, ...] = ()


def decode(raw: bytes, *, html: bool = False) -> Decoded | LeftOut:
    """Decode a text as UTF-8, by its byte order mark, or as Windows-1252 if most letters are plain.
    HTML may declare its encoding."""
    for mark, encoding in BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            return _decode_marked(raw.removeprefix(codecs.BOM_UTF8), encoding)
    if b"\0" in raw:
        return LeftOut("binary")
    if _share(raw, CONTROLS) > MOST_CONTROLS:
        return LeftOut("not text", "it has many control characters")
    try:
        return Decoded(unix_lines(raw.decode("utf-8")))
    except UnicodeDecodeError:
        return _guess(raw, _declared_encoding(raw) if html else "")


def _decode_marked(raw: bytes, encoding: str) -> Decoded | LeftOut:
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        return LeftOut("not text", f"its byte order mark says {encoding.upper()}, but it is not")
    if "\0" in text:
        return LeftOut("binary")
    return Decoded(unix_lines(text))


def _guess(raw: bytes, declared: str) -> Decoded | LeftOut:
    if declared:
        text = unix_lines(raw.decode(declared, errors="replace"))
        return Decoded(text.replace("\0", "\ufffd"), (f"Read as {declared}, as the page says.",))
    if _share(raw, HIGH) > MOST_HIGH:
        return LeftOut("not text", "it is not UTF-8, and no other encoding is likely")
    try:
        return Decoded(unix_lines(raw.decode("cp1252")), ("Not UTF-8: read as Windows-1252.",))
    except UnicodeDecodeError:
        return Decoded(unix_lines(raw.decode("latin-1")), ("Not UTF-8: read as Latin-1.",))


def _declared_encoding(raw: bytes) -> str:
    """Return the encoding that a page declares; empty if Python does not have it."""
    found = CHARSET.search(raw, 0, 4096)
    if found is None:
        return ""
    try:
        known = codecs.lookup(found[1].decode("ascii"))
    except LookupError:
        return ""
    # Other codecs convert bytes to bytes, or read escapes.
    odd = known.name in ("utf-7", "idna", "punycode", "unicode_escape", "raw_unicode_escape")
    is_text = getattr(known, "_is_text_encoding", True)
    return known.name if is_text and not odd else ""


def _share(raw: bytes, of: bytes) -> float:
    return (len(raw) - len(raw.translate(None, of))) / len(raw) if raw else 0.0
