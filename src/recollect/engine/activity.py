"""What happens in the vault: writes from its history, reads from the log of reads, as one list.

Both are there whichever process did it, so whoever watches needs no word from any of them: it asks
for the `pulse` again and again, which reads next to nothing, and for what is new once it changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from heapq import merge
from itertools import groupby, islice
from typing import NamedTuple

from recollect.auth.audit import NumberedRead
from recollect.auth.capabilities import DELETE
from recollect.checks import bounded
from recollect.engine.session import Session
from recollect.store.history import Author
from recollect.times import from_micros
from recollect.types import Memory

NAMED = 3  # memories of an entry; its count says how many there are
LAST = 1 << 62
MOST_CLIENTS = 1000  # writes that are looked through for who writes
# Who searches letter by letter, or five times for one answer, has searched: it is one entry.
SAME_MICROS = 10_000_000


class ActivityPlace(NamedTuple):
    """A place in both logs: the number of a write, and the end of a read's line."""

    write: int
    read: int


class ActivityEntry(NamedTuple):
    """Somebody did something with so many memories, of which a few are named; several `times` in a
    row, where it was a read. Of writes the number, of reads where the line ends."""

    at: datetime
    action: str
    author: Author
    size: int
    memories: tuple[Memory, ...]
    write: int = 0
    read: int = 0
    times: int = 1


class ActivityPage(NamedTuple):
    """Entries, newest first; `older` is the place before which there may be more, `newest` the one
    after which everything is new."""

    entries: list[ActivityEntry]
    older: ActivityPlace | None
    newest: ActivityPlace


def activity(
    session: Session,
    *,
    limit: int = 50,
    before: ActivityPlace | None = None,
    after: ActivityPlace | None = None,
    project: str = "",
    by: str = "",
) -> ActivityPage:
    limit, start = bounded(limit), after or ActivityPlace(0, 0)
    # What comes while this is read is for the next time.
    last = session.store.history.log(after=start.write, before=LAST, limit=1, project="", by="")
    newest = ActivityPlace(last[0].seq if last else start.write, session.audit.reads())
    end = before or ActivityPlace(newest.write + 1, newest.read + 1)
    entries = list(islice(merge(
        _writes(session, start.write, end.write, limit + 1, project, by),
        _reads(session, min(start.read, newest.read), end.read, project, by),
        key=lambda entry: entry.at, reverse=True,
    ), limit + 1))  # fmt: skip
    shown = entries[:limit]
    older = ActivityPlace(
        min((entry.write for entry in shown if entry.write), default=end.write),
        min((entry.read for entry in shown if entry.read), default=end.read),
    )
    return ActivityPage(shown, older if len(entries) > limit else None, newest)


def active_clients(session: Session) -> list[str]:
    writes = session.store.history.log(after=0, before=LAST, limit=MOST_CLIENTS, project="", by="")
    names = {write.author.client or write.author.interface for write in writes}
    reads = (one.read for one in session.audit.reads_since(0))
    return sorted(names | {read.client or read.interface for read in reads})


def _writes(
    session: Session, after: int, before: int, limit: int, project: str, by: str
) -> Iterator[ActivityEntry]:
    """Writes, the newest first; those of one operation in a row are one entry."""
    found = session.store.history.log(
        after=after, before=before, limit=limit, project=project, by=by
    )
    for _, several in groupby(found, key=lambda write: write.operation):
        same = list(several)
        memories = _named(session, [key for write in same for key in write.keys][:NAMED])
        size = sum(write.size for write in same)
        yield ActivityEntry(
            same[0].at, same[0].action, same[0].author, size, memories, write=same[-1].seq
        )


def _reads(
    session: Session, after: int, before: int, project: str, by: str
) -> Iterator[ActivityEntry]:
    """Reads, the newest first."""
    found = [
        one
        for one in reversed([*session.audit.reads_since(after)])
        if one.end < before and (not by or by in _who(one)[1:])
    ]
    for same in _runs(found):
        read = same[0].read
        memories = _named(session, read.keys)
        if project and all(memory.project != project for memory in memories):
            continue
        author = Author(read.interface, read.client, read.user)
        yield ActivityEntry(
            from_micros(read.at), read.action, author, read.count, memories[:NAMED],
            read=same[-1].end, times=len(same),
        )  # fmt: skip


def _who(one: NumberedRead) -> tuple[str, str, str, str]:
    return one.read.action, one.read.interface, one.read.client, one.read.user


def _runs(reads: Sequence[NumberedRead]) -> Iterator[list[NumberedRead]]:
    """Reads of one kind by the same one that follow each other closely."""
    run: list[NumberedRead] = []
    for entry in reads:
        if run and (_who(entry) != _who(run[-1]) or run[-1].read.at - entry.read.at > SAME_MICROS):
            yield run
            run = []
        run.append(entry)
    if run:
        yield run


def _named(session: Session, keys: Sequence[int]) -> tuple[Memory, ...]:
    """The memories of these keys. What was forgotten is named to who may bring it back."""
    found = session.store.memories.keyed(keys)
    stored = [found[key] for key in keys if key in found]
    all_of_them = session.caller.may(DELETE)
    return tuple([one.memory for one in stored if all_of_them or not one.forgotten])
