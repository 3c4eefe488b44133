"""Logs of a home, a file each: `audit.jsonl`, and `reads.jsonl`, which is short."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # not on Windows; there two processes may shorten the log in one moment
    fcntl = None  # type: ignore[assignment]

AUDIT, READS = "audit.jsonl", "reads.jsonl"
# Some 50,000 lines. The previous file is kept beside it, so the log takes at most twice as much.
LARGEST = 10_000_000
# Some 4,000 lines: they are read as a whole to page through them. The older half goes then.
LARGEST_READS = 500_000


class FileLog:
    """A file that only its owner can read. One that is `durable` is set aside where it became too
    large, and of another one the newer half is kept."""

    def __init__(self, file: Path, *, durable: bool) -> None:
        self.file = file
        self._durable = durable

    def append(self, line: bytes) -> None:
        largest, shorten = (LARGEST, _set_aside) if self._durable else (LARGEST_READS, _halve)
        handle = _opened(self.file, largest, shorten)
        try:
            os.write(handle, line + b"\n")
            if self._durable:
                os.fsync(handle)
        finally:
            os.close(handle)

    def size(self) -> int:
        try:
            return self.file.stat().st_size
        except OSError:
            return 0

    def since(self, start: int) -> Iterator[tuple[int, bytes]]:
        """One that a power cut broke off may be among them; those that were set aside come first,
        where all are wanted."""
        for file in (self.file,) if start else (older(self.file), self.file):
            end = start
            with suppress(FileNotFoundError), file.open("rb") as stream:
                stream.seek(start)
                for line in stream:
                    end += len(line)
                    yield end, line


def _opened(file: Path, largest: int, shorten: Callable[[Path], None]) -> int:
    """Open the file and lock it until it is closed. While this process waited for the lock, another
    may have put a new file in its place: then open it again."""
    while True:
        handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX)
            opened = os.fstat(handle)
            if opened.st_size < largest and _same(file, opened):
                return handle
            if _same(file, opened):
                shorten(file)
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _halve(file: Path) -> None:
    """Keep the newer half."""
    from recollect.files import replacing  # noqa: PLC0415  start-up time: rarely needed

    kept = file.read_bytes()[-LARGEST_READS // 2 :]
    with replacing(file) as stream:
        stream.write(kept[kept.find(b"\n") + 1 :])


def _set_aside(file: Path) -> None:
    file.replace(older(file))


def _same(file: Path, opened: os.stat_result) -> bool:
    try:
        return os.path.samestat(file.stat(), opened)
    except FileNotFoundError:
        return False


def older(file: Path) -> Path:
    """The previous log, which had become too large."""
    return file.with_name(f"{file.name}.1")
