"""What was written and what was refused: one line of JSON each, in `audit.jsonl` of the home.

A line says when, who, what, how many, in which vault. It never holds what a memory, a query or a
token says. An id is made from a title's words, so it is told as a hash under the vault's own key.
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
# Some 50,000 lines. The one before is kept beside it, so that twice as much is the most.
LARGEST = 10_000_000
# More ids than that say no more than their number does, and an import has any number.
MOST_MARKS = 20
# A refusal that repeats is counted for so long: whoever is refused must not fill the log, and with
# that push out what it says of others.
QUIET_S = 10.0
MOST_REPEATING = 1000

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


class Audit:
    """The log of one home; without a file nothing is noted."""

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
        """Something was changed; `marks` makes the hashes of the ids, where there are few."""
        if self.file is None:
            return
        told = tuple(marks()) if count <= MOST_MARKS else ()
        self._append(
            AuditEntry(
                time=_now(), caller=caller.name, token=caller.token, action=action, outcome="done",
                count=count, vault=vault, ids=told,
            )
        )  # fmt: skip

    def refused(self, caller: Caller, action: str, vault: str, why: str) -> None:
        """Something was refused. The same again soon after is counted, and told with the next."""
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

    def _due(self, key: tuple[str, ...]) -> int:
        """How many refusals of this kind are to be told now; 0 while it was told a moment ago."""
        now = time.monotonic()
        with self._guard:
            last, counted = self._repeating.pop(key, (-QUIET_S, 0))
            due = now - last >= QUIET_S
            self._repeating[key] = (now, 0) if due else (last, counted + 1)
            if len(self._repeating) > MOST_REPEATING:
                del self._repeating[next(iter(self._repeating))]
        return counted + 1 if due else 0

    def _append(self, entry: AuditEntry) -> None:
        """What was done is done: a log that cannot be written is told, and undoes nothing."""
        assert self.file is not None
        try:
            _append(self.file, msgspec.json.encode(entry) + b"\n")
        except OSError as error:
            import logging  # noqa: PLC0415  start-up time: rarely needed

            log = logging.getLogger("recollect.auth.audit")
            log.warning("%s cannot be written: %s.", self.file, error.strerror)


def _now() -> str:
    """The real time, whatever RECOLLECT_NOW pretends."""
    return iso(datetime.now(UTC).replace(microsecond=0))


def _append(file: Path, line: bytes) -> None:
    """Put the line at the end, durably; only the owner can read it."""
    handle = _opened(file)
    try:
        os.write(handle, line)
        os.fsync(handle)
    finally:
        os.close(handle)


def _opened(file: Path) -> int:
    """The file, locked until it is closed; a large one is put aside first. Who waited for the lock
    may hold what another process has put aside meanwhile, and looks again."""
    while True:
        handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            if fcntl is not None:
                fcntl.flock(handle, fcntl.LOCK_EX)
            held = os.fstat(handle)
            if held.st_size < LARGEST and _same(file, held):
                return handle
            if _same(file, held):
                file.replace(older(file))
        except BaseException:
            os.close(handle)
            raise
        os.close(handle)


def _same(file: Path, held: os.stat_result) -> bool:
    try:
        return os.path.samestat(file.stat(), held)
    except FileNotFoundError:
        return False


def older(file: Path) -> Path:
    """Where the log was put when it had become large."""
    return file.with_name(f"{file.name}.1")


def entries(file: Path) -> Iterator[dict[str, Any]]:
    """Every line there is, oldest first; what a power cut left of one is passed over."""
    for part in (older(file), file):
        with suppress(FileNotFoundError), part.open("rb") as stream:
            for line in stream:
                with suppress(msgspec.DecodeError):
                    entry = msgspec.json.decode(line)
                    if isinstance(entry, dict):
                        yield entry
