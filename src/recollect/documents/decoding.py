"""Decoding the bytes of a file: its encoding, or that it is no text."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from recollect.documents.document import LeftOut

# UTF-32 first: its mark begins with that of UTF-16.
BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
# Texts have few of these: the control characters but tab, line ends, form feed and escape.
CONTROLS = bytes({*range(32), 127} - {9, 10, 11, 12, 13, 27})
HIGH = bytes(range(128, 256))
# Some logs have a few; in files that are no text every tenth byte or more is one.
MOST_CONTROLS = 0.01
# French has 5 accents in 100 letters; Russian in an old encoding has 80, and would be misread.
MOST_HIGH = 0.3
CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.I)


class Decoded(NamedTuple):
    """The text with `\\n` at the end of each line, and notes on its encoding."""

    text: str
    notes: tuple[str, ...] = ()


def decoded(raw: bytes, *, html: bool = False) -> Decoded | LeftOut:
    """The text in UTF-8 or what a byte order mark says; else in Windows-1252 where it is mostly
    plain letters. HTML may name its encoding itself."""
    for mark, encoding in BYTE_ORDER_MARKS:
        if raw.startswith(mark):
            return _strictly(raw.removeprefix(codecs.BOM_UTF8), encoding)
    if b"\0" in raw:
        return LeftOut("binary")
    if _share(raw, CONTROLS) > MOST_CONTROLS:
        return LeftOut("not text", "it has many control characters")
    try:
        return Decoded(unix_lines(raw.decode("utf-8")))
    except UnicodeDecodeError:
        return _guessed(raw, _named(raw) if html else "")


def _strictly(raw: bytes, encoding: str) -> Decoded | LeftOut:
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        return LeftOut("not text", f"its byte order mark says {encoding.upper()}, but it is not")
    if "\0" in text:
        return LeftOut("binary")
    return Decoded(unix_lines(text))


def _guessed(raw: bytes, named: str) -> Decoded | LeftOut:
    if named:
        text = unix_lines(raw.decode(named, errors="replace"))
        return Decoded(text.replace("\0", "\ufffd"), (f"Read as {named}, as the page says.",))
    if _share(raw, HIGH) > MOST_HIGH:
        return LeftOut("not text", "it is not UTF-8, and no other encoding is likely")
    try:
        return Decoded(unix_lines(raw.decode("cp1252")), ("Not UTF-8: read as Windows-1252.",))
    except UnicodeDecodeError:
        return Decoded(unix_lines(raw.decode("latin-1")), ("Not UTF-8: read as Latin-1.",))


def _named(raw: bytes) -> str:
    """The encoding that a page names; empty where Python has no such text encoding."""
    found = CHARSET.search(raw, 0, 4096)
    if found is None:
        return ""
    try:
        known = codecs.lookup(found[1].decode("ascii"))
    except LookupError:
        return ""
    # Others turn bytes into bytes, or read escapes.
    odd = known.name in ("utf-7", "idna", "punycode", "unicode_escape", "raw_unicode_escape")
    is_text = getattr(known, "_is_text_encoding", True)
    return known.name if is_text and not odd else ""


def _share(raw: bytes, of: bytes) -> float:
    return (len(raw) - len(raw.translate(None, of))) / len(raw) if raw else 0.0


def unix_lines(text: str) -> str:
    """The text with `\\n` at the end of each line."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
