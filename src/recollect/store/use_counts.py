"""Uses of memories before they are in the vault: a number for memory and kind, and a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from recollect.store.base import UseKind
from recollect.times import from_micros, to_micros
from recollect.types import Use

KINDS: tuple[UseKind, ...] = ("returned", "opened", "accepted", "taken back")
SECONDS = 60.0  # between two writes of counts

Counts = dict[int, list[int]]  # of a memory's key: returned, opened, accepted, when last


def numbered(kind: UseKind, keys: Iterable[int], at: datetime) -> list[tuple[int, int]]:
    """A record for each of these memories: 4 × its key + the kind, and microseconds."""
    number, moment = KINDS.index(kind), to_micros(at)
    return [(4 * key + number, moment) for key in keys]


def summed(records: Iterable[tuple[int, int]]) -> Counts:
    found: Counts = {}
    for number, at in records:
        key, kind = divmod(number, 4)
        counted = found.setdefault(key, [0, 0, 0, 0])
        if kind == KINDS.index("taken back"):
            counted[2] -= 1
        else:
            counted[kind] += 1
        counted[3] = max(counted[3], at)
    return found


def used(stored: Sequence[int], waiting: Sequence[int] | None) -> Use | None:
    """What is stored of a memory's use, with what is not yet; None where it was never used."""
    more = waiting or (0, 0, 0, 0)
    returned, opened, accepted = map(sum, zip(stored[:3], more[:3], strict=True))
    if last_at := max(stored[3], more[3]):
        return Use(returned, opened, max(accepted, 0), from_micros(last_at))
    return None
