"""Files shared with other processes: opened safely, replaced atomically, locked."""

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
LEFTOVER = re.compile(r"\.recollect-[0-9a-f]{8}-[0-9a-f]{16}\.part")  # as `_create_part` names it


def open_regular(file: Path) -> BinaryIO | None:
    """Open a file for reading; return None if it is not a regular file. A link that it may have
    become is not followed, a pipe not waited for."""
    handle = os.open(file, os.O_RDONLY | NOFOLLOW | getattr(os, "O_NONBLOCK", 0) | BINARY)
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    return None


def write_whole(file: Path, text: str) -> None:
    """Replace the file's text atomically; see `replace_file`."""
    with replace_file(file) as (_, stream):
        stream.write(text.encode())


@contextmanager
def replace_file(file: Path, name: str | None = None) -> Iterator[tuple[Path, BinaryIO]]:
    """Yield a temporary file in the same folder and its stream; they replace the file, with mode
    0600, when the block ends. Readers see the old or the new file, never half of one.

    The new file is made durable, then renamed. A failure removes it. A killed process leaves it,
    unlocked, for `remove_leftovers`. `name`: look for it as a leftover of this file instead.
    """
    part, stream = _create_part(file.with_name(name or file.name))
    try:
        with stream:
            yield part, stream
            stream.flush()
            os.fsync(stream.fileno())
            if fcntl is None:
                stream.close()
            part.replace(file)  # before the lock ends, or it might be removed as a leftover
    except BaseException:
        remove_database(part)
        raise
    sync_folder(file.parent)


def remove_database(file: Path) -> None:
    """Remove the file, and the files that SQLite may have made for it."""
    for ending in ("", "-journal", "-wal", "-shm"):
        file.with_name(file.name + ending).unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Make new names in the folder durable, if the system can open folders."""
    with suppress(OSError), _open_folder(folder) as handle:
        os.fsync(handle)


def remove_leftovers(file: Path) -> None:
    """Remove the temporary files that killed processes left for this file. Those of live processes
    are locked, and stay."""
    for part in file.parent.glob(f"{_prefix(file)}*.part"):
        _remove_leftover(part)


def remove_leftovers_below(folder: Path) -> None:
    """Remove the temporary files of killed processes anywhere in the folder, without following
    links."""
    for part in folder.rglob(".recollect-*.part"):
        if LEFTOVER.fullmatch(part.name):
            _remove_leftover(part)


def _remove_leftover(part: Path) -> None:
    with suppress(OSError):
        if fcntl is None:
            remove_database(part)
        elif stream := open_regular(part):
            with stream:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove_database(part)


@contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Hold a lock on the folder, and wait for it; continue without if folders cannot be locked."""
    if fcntl is None:
        yield
        return
    with _open_folder(folder) as handle:
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextmanager
def exclusive(lock: Path) -> Iterator[bool]:
    """Try to hold this lock file; yield False if another process or thread has it. Without locks
    (Windows), or if the file cannot be made, yield True."""
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


def _create_part(file: Path) -> tuple[Path, BinaryIO]:
    """Create a temporary file for this file, locked while it is open, and return its stream."""
    while True:
        part = file.with_name(f"{_prefix(file)}{os.urandom(8).hex()}.part")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW | BINARY
        stream = os.fdopen(os.open(part, flags, 0o600), "wb")
        if fcntl is None:
            return part, stream
        with suppress(OSError):  # a file system without locks
            fcntl.flock(stream, fcntl.LOCK_EX)
        if part.exists():  # it may have been removed as a leftover before it was locked
            return part, stream
        stream.close()


def _prefix(file: Path) -> str:
    """Return the prefix of temporary files for this file, short even if its name is long."""
    return f".recollect-{crc32(os.fsencode(file.name)):08x}-"


@contextmanager
def _open_folder(folder: Path) -> Iterator[int]:
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield handle
    finally:
        os.close(handle)


def project_of(folder: Path) -> str:
    """Return the name of the repository that the folder is in, or of the folder itself. A worktree
    belongs to its repository."""
    for candidate in (folder, *folder.parents):
        git = candidate / ".git"
        if git.exists():
            return (_repository(git) if git.is_file() else "") or candidate.name
    return folder.name


def _repository(git: Path) -> str:
    """Return the name of the repository of a worktree, whose `.git` is a file that names its git
    directory; empty for a submodule, which has no common directory with another."""
    try:
        own = git.parent / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        written = (own / "commondir").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""
    common = Path(os.path.normpath(own / written))
    # `repo/.git`, `repo/.bare`, or `repo.git`
    return common.parent.name if common.name.startswith(".") else common.stem
