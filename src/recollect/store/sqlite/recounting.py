"""The counts made anew from all memories at once, in arrays: a hundred thousand are many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain, islice, repeat
from operator import itemgetter
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.store.sqlite.checksums import FIELDS, STEP
from recollect.store.sqlite.counts import ADD, DAY, FORGOTTEN, CountKey, TopicHash

COLUMNS = (
    "key", "project", "kind", "source", "tier", "created_at", "updated_at", "valid_until"
)  # fmt: skip
TEXTS = 4  # of them, behind the key
TIMES = ("made", "changed", "expiring")  # what the others are counted as
_counted = itemgetter(*map(FIELDS.index, COLUMNS))
_forgotten_at = FIELDS.index("forgotten_at")
# Without what is not counted, which a vault that is being migrated may not have yet.
EVERY = f"""
    SELECT {", ".join(n if n in (*COLUMNS, "forgotten_at") else "NULL" for n in FIELDS)}
      FROM memories"""
# In the order of the tables, or an index would be read instead of what may be damaged.
NAMES = "SELECT key, CAST(name AS BLOB) FROM tags ORDER BY key"
TAGGED = """
    SELECT coalesce(CAST(memory AS INTEGER), -1), coalesce(CAST(tag AS INTEGER), -1)
      FROM memory_tags ORDER BY memory, tag"""
NO_DAY = np.iinfo(np.int64).min
# Two numbers as one: within what is counted, and the value. A day may lie before 1970.
BITS, MIDDLE = 32, 1 << 31

Numbers = NDArray[np.int64]


class Recount:
    """How many live memories have each value. Texts are counted by their numbers."""

    def __init__(self, hashed: TopicHash) -> None:
        self._hashed = hashed
        self._texts: dict[str | bytes, int] = {"": 0}
        self._numbered = cache(lambda raw: self._number(_text(raw)))
        self._parts = [np.empty((len(COLUMNS), 0), np.int64)]
        self._forgotten = 0

    def read(self, rows: Sequence[Sequence[Any]]) -> None:
        """Add memories, forgotten ones too; a row begins with `checksums.FIELDS`. Nothing that is
        damaged raises: it counts as something else."""
        live = [_counted(row) for row in rows if row[_forgotten_at] is None]
        self._forgotten += len(rows) - len(live)
        if live:
            keys, *columns = zip(*live, strict=True)
            texts = (map(self._numbered, column) for column in columns[:TEXTS])
            days = map(_days, columns[TEXTS:])
            self._parts.append(np.array([keys, *map(list, chain(texts, days))], np.int64))

    def live(self) -> Numbers:
        """The keys of the live memories, in the order in which they were read."""
        keys: Numbers = np.concatenate([part[0] for part in self._parts])
        return keys

    def totals(self, connection: apsw.Connection) -> dict[CountKey, int]:
        """The counts as they should be; the tags are those of the vault."""
        keys, *columns = np.concatenate(self._parts, axis=1)
        tagged, topics = self._tagged(connection, keys)
        every = np.arange(len(keys))
        names = (*COLUMNS[1 : TEXTS + 1], *TIMES)
        fields = {name: (every, values) for name, values in zip(names, columns, strict=True)}
        fields["tags"] = tagged, topics
        scopes = {"": np.zeros_like(keys), "project": columns[0], "kind": columns[1]}
        texts: list[Any] = [*self._texts]
        found: dict[CountKey, int] = {FORGOTTEN: self._forgotten} if self._forgotten else {}
        for field, (memories, values) in fields.items():
            there = values != NO_DAY
            # By the day of its last change, the index of a scope has its memories.
            for scope in scopes if field != "changed" else [""]:
                within = scopes[scope][memories[there]]
                both, counts = np.unique(
                    (within << BITS) + values[there] + MIDDLE, return_counts=True
                )
                which = ((both & (1 << BITS) - 1) - MIDDLE).tolist()
                keyed = zip(
                    repeat(scope),
                    map(texts.__getitem__, (both >> BITS).tolist()),
                    repeat(field),
                    which if field in TIMES else map(texts.__getitem__, which),
                )
                found.update(zip(keyed, counts.tolist(), strict=True))
        return found

    def _tagged(self, connection: apsw.Connection, keys: Numbers) -> tuple[Numbers, Numbers]:
        """The place in `keys` of each live memory with a topic, and the number of the topic."""
        names = connection.execute(NAMES)
        topic_of = {tag: self._number(self._hashed(_text(name))) for tag, name in names}
        rows: Iterable[Any] = connection.execute(TAGGED)
        pairs = np.fromiter(chain.from_iterable(rows), np.int64).reshape(-1, 2)
        tags, of_tag = np.unique(pairs[:, 1], return_inverse=True)
        topics = np.array([topic_of.get(tag, NO_DAY) for tag in tags.tolist()], np.int64)[of_tag]
        places = np.searchsorted(keys, pairs[:, 0])
        there = (np.append(keys, NO_DAY)[places] == pairs[:, 0]) & (topics != NO_DAY)
        both = np.sort((places[there] << BITS) + topics[there])
        both = both[np.diff(both, prepend=-1) > 0]  # two tags may be one topic
        return both >> BITS, both & (1 << BITS) - 1

    def _number(self, text: str | bytes) -> int:
        return self._texts.setdefault(text, len(self._texts))


def fill(connection: apsw.Connection, hashed: TopicHash) -> None:
    """Within a transaction, count everything anew."""
    recount = Recount(hashed)
    found = iter(connection.execute(EVERY))
    while rows := [*islice(found, STEP)]:
        recount.read(rows)
    connection.execute("DELETE FROM counts")
    rows = sorted((*key, count) for key, count in recount.totals(connection).items())
    connection.executemany(ADD, rows)


def counts_problem(connection: apsw.Connection, real: dict[CountKey, int]) -> str | None:
    """How many counts are not what the memories say; `real` is used up."""
    rows: Iterable[Any] = connection.execute("SELECT * FROM counts")
    wrong = sum(real.pop(row[:-1], None) != row[-1] for row in rows) + len(real)
    return f"{wrong} counts are wrong" if wrong else None


def _text(raw: object) -> str:
    return raw.decode(errors="replace") if isinstance(raw, bytes) else str(raw)


def _days(moments: Sequence[object]) -> list[int]:
    return [at // DAY if isinstance(at, int) else NO_DAY for at in moments]
