"""The audit log, `audit.jsonl` in the home or a table of the database: one line of JSON for each
write and each refusal.

A line says when, who, what, how many, in which vault. It never contains the text of a memory, a
query or a token. An id is made from a title's words, so it is written as a hash under the vault's
own key.

A second log has a line for each search, opening and recall, for the page's activity view: the
program, and the keys of memories, which are numbers. It is short, and not durable.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

from recollect.auth.capabilities import Caller
from recollect.times import iso

if TYPE_CHECKING:
    from recollect.auth.access import Access

# A line with more ids has only their number: an import may have any number.
MOST_MARKS = 20
# Repeated refusals are counted for this long and written once, so that one caller cannot fill the
# log and push out other lines.
QUIET_S = 10.0
MOST_REPEATING = 1000
MOST_KEYS = 10  # of memories in a line; the count says how many there were

AuditOutcome = Literal["done", "refused"]


class AuditEntry(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of the audit log."""

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
    """One line of the log of reads; `at` in microseconds."""

    at: int
    action: str
    interface: str
    client: str
    user: str
    count: int
    keys: tuple[int, ...]


class NumberedRead(NamedTuple):
    """A read, and the position at which its line ends: its identity."""

    end: int
    read: Read


class Audit:
    """Both logs of a vault; with access None nothing is written or read."""

    def __init__(self, access: Access | None) -> None:
        self.access = access
        self._guard = threading.Lock()
        self._repeating: dict[tuple[str, ...], tuple[float, int]] = {}

    def log_write(
        self,
        caller: Caller,
        action: str,
        vault: str,
        count: int,
        marks: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        """Log a change. `marks` computes the hashes of the ids; called only if they are few."""
        if self.access is not None:
            ids = tuple(marks()) if count <= MOST_MARKS else ()
            self._append(caller, action, vault, "done", count, ids=ids)

    def log_refusal(self, caller: Caller, action: str, vault: str, why: str) -> None:
        """Log a refusal. Repetitions within QUIET_S are counted and written with the next line."""
        if self.access is not None:
            count = self._count_due((caller.name, caller.token, action, vault, why))
            if count:
                self._append(caller, action, vault, "refused", count, why=why)

    def log_read(self, read: Read) -> None:
        """Log a read; ignore a log that cannot be written."""
        if self.access is not None:
            with suppress(OSError):
                self.access.reads.append(msgspec.json.encode(read))

    def entries(self) -> Iterator[dict[str, Any]]:
        """Yield every entry, oldest first; skip a line that a power cut broke off."""
        for _, line in () if self.access is None else self.access.audit.since(0):
            with suppress(msgspec.DecodeError):
                entry = msgspec.json.decode(line)
                if isinstance(entry, dict):
                    yield entry

    def read_position(self) -> int:
        """Return the end of the log of reads, a number that changes with each read."""
        return 0 if self.access is None else self.access.reads.size()

    def reads_since(self, start: int) -> Iterator[NumberedRead]:
        """Yield the reads after that position, oldest first."""
        decoder = msgspec.json.Decoder(Read)
        for end, line in () if self.access is None else self.access.reads.since(start):
            with suppress(msgspec.DecodeError):  # only half written
                yield NumberedRead(end, decoder.decode(line))

    def close(self) -> None:
        if self.access is not None:
            self.access.close()

    def _count_due(self, key: tuple[str, ...]) -> int:
        """Return how many refusals of this kind to write now; 0 if one was just written."""
        now = time.monotonic()
        with self._guard:
            last, counted = self._repeating.pop(key, (-QUIET_S, 0))
            due = now - last >= QUIET_S
            self._repeating[key] = (now, 0) if due else (last, counted + 1)
            if len(self._repeating) > MOST_REPEATING:
                del self._repeating[next(iter(self._repeating))]
        return counted + 1 if due else 0

    def _append(
        self,
        caller: Caller,
        action: str,
        vault: str,
        outcome: AuditOutcome,
        count: int,
        why: str = "",
        ids: tuple[str, ...] = (),
    ) -> None:
        """Write the line; warn if that fails, since the change itself is already made. The time is
        the system clock's, not RECOLLECT_NOW."""
        assert self.access is not None
        now = iso(datetime.now(UTC).replace(microsecond=0))
        entry = AuditEntry(
            time=now, caller=caller.name, token=caller.token, action=action, outcome=outcome,
            count=count, vault=vault, why=why, ids=ids,
        )  # fmt: skip
        try:
            self.access.audit.append(msgspec.json.encode(entry))
        except OSError as error:
            log = logging.getLogger("recollect.auth.audit")
            log.warning("%s cannot be written: %s.", error.filename, error.strerror)
