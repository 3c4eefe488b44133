"""The rows of a vault's history as versions: how both stores read what they keep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

from recollect.store.base import Stored
from recollect.store.differences import changed_by, earlier, number_of
from recollect.store.history import Author, LoggedWrite, Version
from recollect.times import from_micros

RemovableRow = TypeVar("RemovableRow", bound=Sequence[int])

BEGIN = "begin"
VERSION_BYTES = 30  # of a version beside what it keeps, with its index
WRITE_BYTES = 80
ROOM = 0.05  # of the size to keep: so much more is removed, so that not every write has to


def versions_of(
    rows: Iterable[Sequence[Any]], stored: Stored, begins: datetime
) -> Iterable[Version]:
    """A memory's versions, newest first, from its rows and from what it is now. A row: the write,
    what was before it, and the columns of the write."""
    last: Stored | None = stored
    number = 2
    for write, before, operation, at, action, *author, reason, target, undoes in rows:
        assert last is not None
        number = number_of(before)
        yield Version(
            number, write, operation, from_micros(at), action, author_of(author), reason, target,
            undoes, last.memory, last.forgotten_at, changed_by(before),
        )  # fmt: skip
        last = earlier(last, before)
    if last is not None:  # it was there when history began
        yield Version(
            number - 1, 0, 0, begins, BEGIN, Author(""), "", "", None, last.memory,
            last.forgotten_at, (),
        )  # fmt: skip


def wound_back(
    rows: Iterable[tuple[int, bytes]], now: Mapping[int, Stored]
) -> dict[int, Stored | None]:
    """What memories were before these differences, which come newest first for each key."""
    then: dict[int, Stored | None] = {**now}
    for key, before in rows:
        after = then[key]
        assert after is not None
        then[key] = earlier(after, before)
    return then


def until_enough(rows: Iterable[RemovableRow], size: int, keep: int | None) -> list[RemovableRow]:
    """Of the oldest versions as many as it takes from a size to that to keep; all without one. A
    row: the memory, the write, and how many bytes it keeps."""
    over = 0.0 if keep is None else size - keep * (1 - ROOM)
    chosen = []
    for row in rows:
        chosen.append(row)
        over -= VERSION_BYTES + row[2]
        if keep is not None and over <= 0:
            break
    return chosen


def author_of(row: Sequence[Any]) -> Author:
    interface, client, user, automatic = row
    return Author(interface, client, user, bool(automatic))


def logged_write(row: Sequence[Any], keys: Iterable[int]) -> LoggedWrite:
    """From the columns of a write, then how many memories it changed, and the keys of some."""
    seq, operation, at, action, *author, size = row
    return LoggedWrite(
        seq, operation, from_micros(at), action, author_of(author), size, tuple(keys)
    )
