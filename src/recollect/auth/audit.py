"""The audit log, `audit.jsonl` in the home: one line of JSON for each write and each refusal.

A line says when, who, what, how many, in which vault. It never contains the text of a memory, a
query or a token. An id is made from a title's words, so it is written as a hash under the vault's
own key.

Beside it, `reads.jsonl` has a line for each search and whatever was opened or recalled, which the
page shows to whoever watches: the program, and the keys of memories, which are numbers. It is
short, and not durable.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from recollect.auth.capabilities import Caller
from recollect.times import iso

try:
    import fcntl
except ImportError:  # not on Windows; there two processes may shorten the log in one moment
    fcntl = None  # type: ignore[assignment]

NAME = "audit.jsonl"
# Some 50,000 lines. The previous file is kept beside it, so the log takes at most twice as much.
LARGEST = 10_000_000
# Above this, the number of ids says enough: an import may have any number.
MOST_MARKS = 20
# Repeated refusals are counted for this long and written once: a caller that is refused again and
# again must not fill the log and push out other lines.
QUIET_S = 10.0
MOST_REPEATING = 1000
READS = "reads.jsonl"
# Some 4,000 lines: they are read as a whole to page through them. The older half goes then.
LARGEST_READS = 500_000
MOST_KEYS = 10  # of memories in a line; the count says how many there were

AuditOutcome = Literal["done", "refused"]


class AuditEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line."""

    time: str
    caller: str
    token: str = ""
    action: str
    outcome: AuditOutcome
    count: int = 1
    vault: str = ""
    why: str = ""
    ids: tuple[str, ...] = ()


class Read(Struct, frozen=True, array_like=True):
    """A line of reads; `at` in microseconds."""

    at: int
    action: str
    interface: str
    client: str
    user: str
    count: int
    keys: tuple[int, ...]


class Audit:
    """The log of one home; without a file nothing is written."""

    def __init__(self, file: Path | None) -> None:
        self.file = file
        self._guard = threading.Lock()
        self._repeating: dict[tuple[str, ...], tuple[float, int]] = {}

    def wrote(
        self,
        caller: Caller,
        action: str,
        vault: str,
        count: int,
        marks: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        """Log a change; `marks` makes the hashes of the ids, where there are few."""
        if self.file is None:
            return
        ids = tuple(marks()) if count <= MOST_MARKS else ()
        self._append(
            AuditEntry(
                time=_now(), caller=caller.name, token=caller.token, action=action, outcome="done",
                count=count, vault=vault, ids=ids,
            )
        )  # fmt: skip

    def refused(self, caller: Caller, action: str, vault: str, why: str) -> None:
        """Log a refusal. A repetition soon after is counted and written with the next line."""
        if self.file is None:
            return
        count = self._due((caller.name, caller.token, action, vault, why))
        if count:
            self._append(
                AuditEntry(
                    time=_now(), caller=caller.name, token=caller.token, action=action,
                    outcome="refused", count=count, vault=vault, why=why,
                )
            )  # fmt: skip

    def read(self, read: Read) -> None:
        """Log a read, where that is possible."""
        if self.file is not None:
            with suppress(OSError):
                file, line = self.file.with_name(READS), msgspec.json.encode(read) + b"\n"
                append_line(file, line, LARGEST_READS, _halve, durable=False)

    def _due(self, key: tuple[str, ...]) -> int:
        """The number of refusals of this kind to write now; 0 while one was just written."""
        now = time.monotonic()
        with self._guard:
            last, counted = self._repeating.pop(key, (-QUIET_S, 0))
            due = now - last >= QUIET_S
            self._repeating[key] = (now, 0) if due else (last, counted + 1)
            if len(self._repeating) > MOST_REPEATING:
                del self._repeating[next(iter(self._repeating))]
        return counted + 1 if due else 0

    def _append(self, entry: AuditEntry) -> None:
        """Write the line; where that fails, warn. The logged change itself stays."""
        assert self.file is not None
        try:
            append_line(self.file, msgspec.json.encode(entry) + b"\n", LARGEST, _set_aside)
        except OSError as error:
            import logging  # noqa: PLC0415  start-up time: rarely needed

            log = logging.getLogger("recollect.auth.audit")
            log.warning("%s cannot be written: %s.", self.file, error.strerror)


def _now() -> str:
    """The clock's time, not that of RECOLLECT_NOW."""
    return iso(datetime.now(UTC).replace(microsecond=0))


def append_line(
    file: Path,
    line: bytes,
    largest: int,
    shorten: Callable[[Path], None],
    *,
    durable: bool = True,
) -> None:
    """Append the line; only the owner can read the file. `shorten` is called first where the file
    is too large, and puts another one in its place."""
    handle = _opened(file, largest, shorten)
    try:
        os.write(handle, line)
        if durable:
            os.fsync(handle)
    finally:
        os.close(handle)


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


def entries(file: Path) -> Iterator[dict[str, Any]]:
    """Every entry, oldest first; a line that a power cut broke off is skipped."""
    for part in (older(file), file):
        with suppress(FileNotFoundError), part.open("rb") as stream:
            for line in stream:
                with suppress(msgspec.DecodeError):
                    entry = msgspec.json.decode(line)
                    if isinstance(entry, dict):
                        yield entry
