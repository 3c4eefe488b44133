"""Salvaging a damaged vault: every row on every page that is whole.

A page that cannot be read costs the rows on it. Where it led to other pages, those are found by
what their rows look like. Tags are read twice, from their table and from its index.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property
from itertools import islice, permutations
from typing import NamedTuple

import apsw

from recollect.store.base import FeedbackEvent, Stored
from recollect.store.memory_rows import BadRow, as_stored
from recollect.store.rescue.pages import INDEX_LEAF, TABLE_LEAF, Pages, Record
from recollect.store.sqlite.checksums import FIELDS, HALF, row_half, tags_half
from recollect.times import from_micros

# The kinds of values in the rows of each table: (n)ull, (i)nteger, (t)ext, (b)lob. The key of a
# row is null in the record. Of memories the last three values came later, with versions 5 and 8; so
# did the last one of feedback, with version 5.
SCHEMA = "[tn]{3}[in][tn]"
ROWS = {
    "memories": "nt{8}[tn]t{6}ii[in]{2}b[in]b?(t[in])?",
    "tags": "ntb",
    "feedback": "nttiit?",
    "folders": "nttiii",
    "files": "nitiiiibt[in]",
    "cuts": "niitii",
    "models": "nti",
    "vectors": "niiiiib",
    "token_vectors": "nb",
    "writes": "niit{4}itt[in]",
    "usage": "ni{4}",
}
ENTRIES = {
    "meta": "tt",
    "memory_tags": "iii",
    "versions": "iib",
    "reviews": "tti[in]",
    "candidates": "bit{6}",
    "memory_tags_tag": "ii",
    "sqlite_autoindex_tags_1": "ti",
    "sqlite_autoindex_memories_1": "ti",
    "memories_recent": "iti",
}
# The columns of a memory in the order of its row, and the values of older rows for the last ones.
LATER = {"superseded_by": "", "archived_at": None}
COLUMNS = (
    *(name for name in FIELDS[:-1] if name not in LATER),
    "content_hash", "forgotten_at", "checksum", *LATER,
)  # fmt: skip
SINCE = {"writes": 8, "versions": 8, "usage": 8, "reviews": 8, "candidates": 9}  # versions
KINDS = {int: "i", str: "t", bytes: "b"}
# The most orders of a memory's tags to compare with its checksum: those of seven tags.
MOST_ORDERS = 5040


class SalvagedMemory(NamedTuple):
    """A memory of a damaged vault: `fields` are the columns FIELDS; `whole`: they are what was
    written; `tagged`: the tags are."""

    fields: Record
    tags: list[str]
    whole: bool
    tagged: bool

    @property
    def id(self) -> str:
        return str(self.fields[1])

    def stored(self) -> Stored:
        key, *rest, forgotten_at = self.fields
        return as_stored(key, forgotten_at, self.tags, rest)


class Salvage:
    """The rows of a damaged vault, by table."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._pages = pages = Pages(connection)
        self.incomplete: set[str] = set()
        self.version = pages.version
        self.readable = any(pages.kind(number) for number in range(1, pages.count + 1))
        visited: set[int] = set()
        holding, complete = pages.tree(1, visited)
        if not complete:
            holding += self._like(SCHEMA, TABLE_LEAF, visited)
        roots = self._roots(holding)
        self.found = bool(roots)
        trees = {name: pages.tree(root, visited) for name, root in roots.items()}
        self._rows: dict[str, list[tuple[int, Record]]] = {}
        for name, shape in (ROWS | ENTRIES).items():
            kind = TABLE_LEAF if name in ROWS else INDEX_LEAF
            holding, complete = trees.get(name, ([], False))
            if not complete and not 0 < self.version < SINCE.get(name, 0):
                self.incomplete.add(name)
                holding += self._like(shape, kind, visited)
            self._rows[name] = self._fitting(name, re.compile(shape), holding)
        self._tag_names = self._names("tags", "sqlite_autoindex_tags_1")
        self._tags, self._unplaced = self._tags_of_memories()

    def rows(self, table: str) -> list[Record]:
        """Return the rows of a table, with their keys."""
        if table in ENTRIES:
            return [record for _, record in self._rows[table]]
        return [(key, *record[1:]) for key, record in self._rows[table]]

    @cached_property
    def memories(self) -> list[SalvagedMemory]:
        """Every memory, forgotten ones included; intact ones come first."""
        every = [self._memory(key, record) for key, record in self._rows["memories"]]
        whole = [memory for memory in every if memory.whole]
        ids = {memory.id for memory in whole}
        return whole + [one for one in every if not one.whole and one.id not in ids and _sane(one)]

    def _memory(self, key: int, record: Record) -> SalvagedMemory:
        values = dict(zip(COLUMNS, record, strict=False)) | {"key": key}
        fields = tuple(values.get(name, LATER.get(name)) for name in FIELDS)
        checksum = values.get("checksum")
        assert checksum is None or isinstance(checksum, bytes)
        whole = checksum is None or row_half(fields) == checksum[:HALF]
        tags, tagged = self._tags_of(key, checksum[HALF:] if checksum and whole else None)
        return SalvagedMemory(fields, tags, whole, tagged)

    def lost(self) -> list[str]:
        """Return the memories that existed and cannot be read: their ids, or row numbers if the ids
        are lost."""
        keys = (*self._tags, *self._unplaced, *(key for key, _ in self._rows["memories"]))
        known: dict[int, str] = dict.fromkeys(keys, "")
        for name in ("sqlite_autoindex_memories_1", "memories_recent"):
            known |= {int(str(key)): str(id) for *_, id, key in self.rows(name)}
        found = {memory.fields[0] for memory in self.memories}
        return [id or f"row {key}" for key, id in sorted(known.items()) if key not in found]

    def stored(self, moment: datetime) -> Iterator[Stored | FeedbackEvent]:
        """Yield the memories and the feedback for an export. A memory that is not what was written
        counts as forgotten at `moment`."""
        for memory in self.memories:
            item = memory.stored()
            yield item if memory.whole or item.forgotten else item._replace(forgotten_at=moment)
        for _, query, id, accepted, at, *_ in self.rows("feedback"):
            when = from_micros(at)  # type: ignore[arg-type]
            yield FeedbackEvent(str(query), str(id), bool(accepted), when)

    def _roots(self, holding: Sequence[int]) -> dict[str, int]:
        roots = {}
        for _, record in self._fitting("", re.compile(SCHEMA), holding):
            if isinstance(record[3], int) and record[3] > 1:
                roots[str(record[1])] = record[3]
        return roots

    def _like(self, shape: str, kind: int, visited: set[int]) -> list[int]:
        """Return the pages that no tree leads to and whose rows all look like those of this
        table."""
        pattern, found = re.compile(shape), []
        for number in range(1, self._pages.count + 1):
            if number in visited or self._pages.kind(number) != kind:
                continue
            records = [record for _, record in self._pages.records(number)]
            if records and all(record and _fits(pattern, record) for record in records):
                visited.add(number)
                found.append(number)
        return found

    def _fitting(
        self, name: str, pattern: re.Pattern[str], holding: Sequence[int]
    ) -> list[tuple[int, Record]]:
        fitting = []
        for number in holding:
            for key, record in self._pages.records(number):
                if record is not None and _fits(pattern, record):
                    fitting.append((key, record))
                else:
                    self.incomplete.add(name)
        return fitting

    def _names(self, table: str, index: str) -> dict[int, str]:
        """Return the names by key, from the table and its index."""
        names = {int(str(key)): str(name) for name, key in self.rows(index)}
        return names | {key: str(record[1]) for key, record in self._rows[table]}

    def _tags_of_memories(self) -> tuple[dict[int, dict[int, int]], dict[int, list[int]]]:
        """Return the tags of each memory by position, and those that only the index has."""
        placed: dict[int, dict[int, int]] = defaultdict(dict)
        for memory, tag, position in self.rows("memory_tags"):
            placed[memory][position] = tag  # type: ignore[index, assignment]
        unplaced: dict[int, list[int]] = defaultdict(list)
        for tag, memory in self.rows("memory_tags_tag"):
            if tag not in placed.get(memory, {}).values():  # type: ignore[arg-type]
                unplaced[memory].append(tag)  # type: ignore[index, arg-type]
        return placed, unplaced

    def _tags_of(self, key: int, check: bytes | None) -> tuple[list[str], bool]:
        """Return the tags of a memory, and whether they are what was written. Those that only the
        index has are left out first, and then tried in every order."""
        placed, unplaced = self._tags.get(key, {}), self._unplaced.get(key, [])
        free = [place for place in range(len(placed) + len(unplaced)) if place not in placed]
        orders = [placed]
        orders += (
            placed | dict(zip(free, order, strict=False))
            for order in islice(permutations(unplaced), MOST_ORDERS if unplaced else 0)
        )
        for tags in orders if check is not None else ():
            names = self._names_of(tags)
            if tags_half(names) == check:
                return names, True
        likely = self._names_of(orders[min(1, len(unplaced))])
        return likely, check is None and not unplaced and len(likely) == len(placed)

    def _names_of(self, tags: dict[int, int]) -> list[str]:
        """Return the names of these tags in order of their positions."""
        return [self._tag_names[tag] for _, tag in sorted(tags.items()) if tag in self._tag_names]


def _sane(memory: SalvagedMemory) -> bool:
    try:
        memory.stored()
    except BadRow:
        return False
    return True


def _fits(pattern: re.Pattern[str], record: Record) -> bool:
    kinds = "".join("n" if value is None else KINDS[type(value)] for value in record)
    return pattern.fullmatch(kinds) is not None
