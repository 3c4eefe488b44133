"""What memories were: who changed them, when and why, and what is asked of a store about that."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

from recollect.types import Memory

if TYPE_CHECKING:
    from recollect.store.base import Stored

KEEP = r"\s*(\d{1,9})\s*(d|kB|MB|GB)?\s*"
UNITS = {"kB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}
# The most versions that are removed at once, so that no other writer waits long.
MOST_REMOVED = 1_000


class Author(NamedTuple):
    """Who writes: through which interface, with which program, and the name of their token (empty:
    the owner). `automatic`: nobody asked for it, as when a folder is followed."""

    interface: str
    client: str = ""
    user: str = ""
    automatic: bool = False


class WriteOperation:
    """What one command does, in however many writes. `number` is that of the first one; None until
    there is one."""

    def __init__(self) -> None:
        self.number: int | None = None


class Change(NamedTuple):
    """Why a write is made. `clock` is asked when the write is complete, so that later writes have
    later times. `target`: the id merged into, or of the successor. `undoes`: the number of the
    operation that it takes back."""

    action: str
    author: Author
    clock: Callable[[], datetime]
    reason: str = ""
    target: str = ""
    operation: WriteOperation | None = None
    undoes: int | None = None


class Version(NamedTuple):
    """A memory as it was after a change, and what is known of the change. Versions are numbered
    from 1; version 1 is what was made, or what was there when history began (`action` is `begin`
    then, and `write` 0). `changed`: the fields that differ from the version before."""

    number: int
    write: int
    operation: int
    at: datetime
    action: str
    author: Author
    reason: str
    target: str
    undoes: int | None
    memory: Memory
    forgotten_at: datetime | None
    changed: tuple[str, ...]

    @property
    def state(self) -> tuple[Memory, bool]:
        """The memory, and whether it is forgotten."""
        return self.memory, self.forgotten_at is not None


class Done(NamedTuple):
    """An operation: its number, when it began, what it was, the ids of the memories that it
    changed, and for an undo the number of the operation that it took back."""

    number: int
    at: datetime
    action: str
    author: Author
    ids: tuple[str, ...]
    undoes: int | None = None


class LoggedWrite(NamedTuple):
    """A write of history: what it was, whose, of how many memories, and the keys of a few."""

    seq: int
    operation: int
    at: datetime
    action: str
    author: Author
    size: int
    keys: tuple[int, ...]


class Keep(NamedTuple):
    """How much of history is kept: what is younger than `days`, the newest `versions` of each
    memory, or the newest up to `size` bytes in all. Exactly one is given."""

    days: float | None = None
    versions: int | None = None
    size: int | None = None


class History(Protocol):
    def of(self, id: str) -> list[Version]:
        """The versions of a memory, live or forgotten, newest first; none of an unknown one."""

    def last_write(self, at: datetime) -> int:
        """The number of the last write that counts at that time: the one before the first write
        that is later. 0: none does."""

    def changed_since(self, at: datetime) -> dict[int, Stored | None]:
        """Each memory that was changed since then, by key, as it was; None where it was not there
        yet. What was purged is not among them."""

    def begins(self) -> datetime | None:
        """From when on it is known what memories were; None in a vault that was never written."""

    def operations(self, user: str, limit: int, *, undone: bool = False) -> Sequence[Done]:
        """The last operations that this user asked for and that were not taken back, newest first,
        without those that take others back; with `undone` the last undos that were not."""

    def alone(self, operation: int) -> bool:
        """Whether an operation changed one memory alone."""

    def size(self) -> int:
        """How many bytes versions take, about."""

    def due(self, keep: Keep, now: datetime, *, whole: bool = False) -> bool:
        """Whether there are versions that need not be kept. By their number, only memories that
        were changed lately are looked at, unless it is the `whole` vault."""

    def compact(
        self, keep: Keep, now: datetime, *, whole: bool = False, most: int = MOST_REMOVED
    ) -> int:
        """Remove versions that need not be kept, oldest first, at most so many; returns how many
        were removed. `whole` as for `due`."""


def merged_then(history: History, ids: Iterable[str], then: datetime) -> dict[str, str]:
    """Those of these ids that were merged into another memory by that moment, with its id."""
    into: dict[str, str] = {}
    for id in ids:
        kept, seen = id, set[str]()
        while kept not in seen:
            seen.add(kept)
            past = (one for one in history.of(kept) if one.at <= then)
            last = next(past, None)
            if last is not None and last.action == "merge" and last.forgotten_at is not None:
                kept = last.target
        if kept != id:
            into[id] = kept
    return into


def parse_keep(text: str) -> Keep:
    """What the setting `history.keep` says: "90d", "20" versions, or "512 MB"."""
    found = re.fullmatch(KEEP, text)
    assert found is not None  # the settings check it
    number, unit = int(found[1]), found[2]
    if unit == "d":
        return Keep(days=number)
    return Keep(size=number * UNITS[unit]) if unit else Keep(versions=number)
