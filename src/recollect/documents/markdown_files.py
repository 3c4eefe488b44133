"""The Markdown files of a folder. Links are not followed, and hidden files are left alone."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from recollect.checks import is_text
from recollect.errors import UserError
from recollect.files import opened_regular

# Far longer than any memory; a file is read as a whole.
MOST_BYTES = 256 * 1024 * 1024
ENDING = ".md"
LINK = "It is a link, and links are not followed."
NOT_UTF8 = "It is not valid UTF-8 text."
NOT_REGULAR = "It is not a regular file."


class MarkdownEntry(NamedTuple):
    """An entry of the folder: its path below it, with `/`. `problem`: why it cannot be read; of a
    folder with a problem, nothing in it is known. Only `markdown` files are read."""

    path: str
    markdown: bool
    folder: bool = False
    problem: str = ""


def walk(folder: Path) -> Iterator[MarkdownEntry]:
    """Every entry that is not hidden, folder by folder, by name."""
    waiting = [""]
    while waiting:
        below = waiting.pop()
        try:
            with os.scandir(folder / below) as listed:
                entries = sorted(listed, key=lambda entry: entry.name)
        except OSError as error:
            yield MarkdownEntry(below, False, True, f"The folder cannot be read: {error.strerror}.")
            continue
        inside = [
            _entry(entry, f"{below}/{entry.name}" if below else entry.name)
            for entry in entries
            if not entry.name.startswith(".")
        ]
        yield from inside
        waiting += (found.path for found in reversed(inside) if found.folder and not found.problem)


def _entry(entry: os.DirEntry[str], path: str) -> MarkdownEntry:
    is_markdown = entry.name.lower().endswith(ENDING)
    if not is_text(entry.name):
        shown = path.encode(errors="surrogateescape").decode(errors="replace")
        folder = entry.is_dir(follow_symlinks=False)
        problem = "Its name is not valid UTF-8 text." if is_markdown or folder else ""
        return MarkdownEntry(shown, False, folder, problem)
    if entry.is_symlink():
        return MarkdownEntry(path, is_markdown, not is_markdown, LINK)
    if entry.is_dir(follow_symlinks=False):
        return MarkdownEntry(path, False, True)
    fine = not is_markdown or entry.is_file(follow_symlinks=False)
    return MarkdownEntry(path, is_markdown, False, "" if fine else NOT_REGULAR)


def read_bytes(folder: Path, path: str) -> bytes:
    """A file's bytes; UserError with the reason where it cannot be read. A link is not followed,
    and a pipe is not waited for."""
    try:
        stream = opened_regular(folder / path)
        if stream is None:
            raise UserError(NOT_REGULAR)
        with stream:
            if os.fstat(stream.fileno()).st_size > MOST_BYTES:
                raise UserError(f"It is larger than {MOST_BYTES // 1024 // 1024} MB.")
            return stream.read()
    except OSError as error:
        raise UserError(f"It cannot be read: {error.strerror}.") from error


def as_text(raw: bytes) -> str:
    """A file's text, as it is: line ends and a byte order mark included."""
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise UserError(f"{NOT_UTF8[:-1]} (byte {error.start}).") from error
    if "\0" in text:
        raise UserError("It holds a NUL character, which text cannot hold.")
    return text
