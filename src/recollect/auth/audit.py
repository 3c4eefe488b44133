"""The audit log, `audit.jsonl` in the home or a table of the database: one line of JSON for each
write and each refusal.

A line says when, who, what, how many, in which vault. It never contains the text of a memory, a
query or a token. An id is made from a title's words, so it is written as a hash under the vault's
own key.

Beside it, the log of reads has a line for each search and whatever was opened or recalled, which
the page shows to whoever watches: the program, and the keys of memories, which are numbers. It is
short, and not durable.
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

# Above this, the number of ids says enough: an import may have any number.
MOST_MARKS = 20
# Repeated refusals are counted for this long and written once: a caller that is refused again and
# again must not fill the log and push out other lines.
QUIET_S = 10.0
MOST_REPEATING = 1000
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


class NumberedRead(NamedTuple):
    """A read and where its line ends, by which reads are told apart."""

    end: int
    read: Read


class Audit:
    """Both logs of a vault; without any access nothing is written, and nothing there."""

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
        """Log a change; `marks` makes the hashes of the ids, where there are few."""
        if self.access is not None:
            ids = tuple(marks()) if count <= MOST_MARKS else ()
            self._append(caller, action, vault, "done", count, ids=ids)

    def log_refusal(self, caller: Caller, action: str, vault: str, why: str) -> None:
        """Log a refusal. A repetition soon after is counted and written with the next line."""
        if self.access is not None:
            count = self._due((caller.name, caller.token, action, vault, why))
            if count:
                self._append(caller, action, vault, "refused", count, why=why)

    def log_read(self, read: Read) -> None:
        """Log a read, where that is possible."""
        if self.access is not None:
            with suppress(OSError):
                self.access.reads.append(msgspec.json.encode(read))

    def entries(self) -> Iterator[dict[str, Any]]:
        """Every entry, oldest first; a line that a power cut broke off is skipped."""
        for _, line in () if self.access is None else self.access.audit.since(0):
            with suppress(msgspec.DecodeError):
                entry = msgspec.json.decode(line)
                if isinstance(entry, dict):
                    yield entry

    def read_position(self) -> int:
        """A number that changes with each read."""
        return 0 if self.access is None else self.access.reads.size()

    def reads_since(self, start: int) -> Iterator[NumberedRead]:
        """The reads behind that number, oldest first."""
        decoder = msgspec.json.Decoder(Read)
        for end, line in () if self.access is None else self.access.reads.since(start):
            with suppress(msgspec.DecodeError):  # written in half
                yield NumberedRead(end, decoder.decode(line))

    def close(self) -> None:
        if self.access is not None:
            self.access.close()

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
        """Write the line; where that fails, warn. The logged change itself stays. The time is the
        clock's, not that of RECOLLECT_NOW."""
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
