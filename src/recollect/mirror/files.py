"""The Markdown files of a folder: links are not followed, and what is hidden is left alone."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from recollect.checks import is_text
from recollect.errors import UserError
from recollect.files import opened_regular
from recollect.mirror.file_names import ENDING

# Far longer than any memory; a larger file is none, and would have to fit into the memory.
MOST_BYTES = 256 * 1024 * 1024
LINK = "It is a link, and links are not followed."
NOT_UTF8 = "It is not valid UTF-8 text."


class Seen(NamedTuple):
    """One thing in the folder: its path below it, with `/`. `problem`: why it cannot be read; where
    it is a folder, nothing in it could be seen. Only `markdown` files are read."""

    path: str
    markdown: bool
    folder: bool = False
    problem: str = ""


def checked_folder(told: Path) -> Path:
    """The folder as an absolute path without links; UserError where it is none."""
    if not is_text(str(told)) or "\0" in str(told):
        raise UserError(f"The folder {str(told)!r} has a name that is not valid UTF-8 text.")
    try:
        folder = told.expanduser().resolve()
        mode = folder.stat().st_mode
    except (FileNotFoundError, NotADirectoryError) as error:
        raise UserError(f"There is no folder {told}; make it first.") from error
    except (OSError, RuntimeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise UserError(f"The folder {told} cannot be read: {reason}.") from error
    if not stat.S_ISDIR(mode):
        raise UserError(f"{told} is a file; a folder is needed.")
    return folder


def walk(folder: Path) -> Iterator[Seen]:
    """Everything that is not hidden, folder by folder, by name."""
    waiting = [""]
    while waiting:
        below = waiting.pop()
        try:
            with os.scandir(folder / below) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            yield Seen(below, False, True, f"The folder cannot be read: {error.strerror}.")
            continue
        inside = [
            _seen(entry, f"{below}/{entry.name}" if below else entry.name)
            for entry in entries
            if not entry.name.startswith(".")
        ]
        yield from inside
        waiting += (one.path for one in reversed(inside) if one.folder and not one.problem)


def _seen(entry: os.DirEntry[str], path: str) -> Seen:
    named = entry.name.lower().endswith(ENDING)
    if not is_text(entry.name):
        shown = path.encode(errors="surrogateescape").decode(errors="replace")
        folder = entry.is_dir(follow_symlinks=False)
        problem = "Its name is not valid UTF-8 text." if named or folder else ""
        return Seen(shown, False, folder, problem)
    if entry.is_symlink():
        return Seen(path, named, not named, LINK)
    if entry.is_dir(follow_symlinks=False):
        return Seen(path, False, True)
    regular = entry.is_file(follow_symlinks=False)
    return Seen(path, named, False, "" if regular or not named else "It is not a regular file.")


def read_bytes(folder: Path, path: str) -> bytes:
    """A file's bytes; UserError with the reason where it cannot be read. The last name is never
    followed as a link, and what is no regular file is not waited for."""
    try:
        stream = opened_regular(folder / path)
        if stream is None:
            raise UserError("It is not a regular file.")
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
