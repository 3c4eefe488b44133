"""Files that other processes may change: opened safely, written as a whole."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from zlib import crc32

try:
    import fcntl
except ImportError:  # Windows, where an open file can be neither removed nor renamed
    fcntl = None  # type: ignore[assignment]

NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
BINARY = getattr(os, "O_BINARY", 0)
LEFTOVER = re.compile(r"\.recollect-[0-9a-f]{8}-[0-9a-f]{16}\.part")  # as `_created` names it


def opened_regular(file: Path) -> BinaryIO | None:
    """The file, open for reading; None where it is not a regular file. It may have become a link or
    a pipe since it was found: neither is followed or waited for."""
    handle = os.open(file, os.O_RDONLY | NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | BINARY)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    return None


def write_whole(file: Path, text: str) -> None:
    """Replace the file's text as `replacing` does."""
    with replacing(file) as stream:
        stream.write(text.encode())


@contextmanager
def replacing(file: Path) -> Iterator[BinaryIO]:
    """A stream whose bytes become the file, as `new_beside` does it."""
    with new_beside(file) as (_, stream):
        yield stream


@contextmanager
def new_beside(file: Path, name: str | None = None) -> Iterator[tuple[Path, BinaryIO]]:
    """A new file and its stream, which become the file, mode 0600, when the block ends. A reader
    sees the old file or the new one, never half: the new one stands beside it under a name of its
    own, is made durable, then renamed. A failure leaves nothing behind. A killed process leaves the
    file beside it, unlocked: see `remove_leftovers`. `name` is that of the file to which it then
    belongs, where it is not this one's."""
    beside, stream = _created(file.with_name(name or file.name))
    try:
        with stream:
            yield beside, stream
            stream.flush()
            os.fsync(stream.fileno())
            if fcntl is None:
                stream.close()
            beside.replace(file)  # before the lock ends, or it might be taken for a leftover
    except BaseException:
        remove_database(beside)
        raise
    sync_folder(file.parent)


def remove_database(file: Path) -> None:
    """Remove the file, and what SQLite may have put beside it."""
    for ending in ("", "-journal", "-wal", "-shm"):
        file.with_name(file.name + ending).unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make new names in the folder last through a power cut, where a folder can be opened."""
    with suppress(OSError), _opened_folder(folder) as handle:
        os.fsync(handle)


def remove_leftovers(file: Path) -> None:
    """Remove the files that killed processes left beside this one. Those of live processes are
    locked, and stay."""
    for beside in file.parent.glob(f"{_start(file)}*.part"):
        _remove_leftover(beside)


def remove_leftovers_below(folder: Path) -> None:
    """Remove what killed processes left anywhere in the folder; links are not followed."""
    for beside in folder.rglob(".recollect-*.part"):
        if LEFTOVER.fullmatch(beside.name):
            _remove_leftover(beside)


def _remove_leftover(beside: Path) -> None:
    with suppress(OSError):
        if fcntl is None:
            remove_database(beside)
        elif stream := opened_regular(beside):
            with stream:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_database(beside)


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Wait until no other process holds this lock on the folder; where a folder cannot be locked,
    go on without."""
    if fcntl is None:
        yield
        return
    with _opened_folder(folder) as handle:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextmanager
def exclusive(lock: Path) -> Iterator[bool]:
    """Hold this lock file: True where no other process or thread has it. Where there are no locks
    (Windows), and where the file cannot be made, everybody is alone."""
    try:
        handle = None if fcntl is None else os.open(lock, os.O_RDWR | os.O_CREAT | NOFOLLOW, 0o600)
    except OSError:
        handle = None
    if handle is None:
        yield True
        return
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
            return
        yield True
    finally:
        os.close(handle)


def _created(file: Path) -> tuple[Path, BinaryIO]:
    """A new file beside this one, locked for as long as it is open, and its stream."""
    while True:
        beside = file.with_name(f"{_start(file)}{os.urandom(8).hex()}.part")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | BINARY
        stream = os.fdopen(os.open(beside, flags, 0o600), "wb")
        if fcntl is None:
            return beside, stream
        with suppress(OSError):  # a file system without locks
            fcntl.flock(stream, fcntl.LOCK_EX)
        if beside.exists():  # it may have been taken for a leftover before it was locked
            return beside, stream
        stream.close()


def _start(file: Path) -> str:
    """How the names of files beside this one begin; short, however long the file's name is."""

    return f".recollect-{crc32(os.fsencode(file.name)):08x}-"


@contextmanager
def _opened_folder(folder: Path) -> Iterator[int]:
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield handle
    finally:
        os.close(handle)
