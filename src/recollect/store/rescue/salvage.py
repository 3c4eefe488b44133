"""Salvaging a damaged vault: every row on every page that is whole.

SQLite stops at the first damaged page; the other pages can still be read below SQL. The format:
https://www.sqlite.org/fileformat2.html. A page that cannot be read costs the rows on it. Pages to
which it led are found by what their rows look like. Tags are read twice, from their table and from
its index.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from itertools import islice, permutations
from pathlib import Path
from typing import NamedTuple, TypeAlias

import apsw

from recollect.store.base import Stored
from recollect.store.feedback import FeedbackEvent
from recollect.store.memory_rows import BadRow, as_stored
from recollect.store.sqlite.checksums import FIELDS, HALF, row_half, tags_half
from recollect.times import from_micros

SIZE = 4096  # of a page, in every vault
FIRST = 100  # bytes of the file's header, before the first page's own
TABLE_INNER, TABLE_LEAF, INDEX_INNER, INDEX_LEAF = 0x05, 0x0D, 0x02, 0x0A
TREES = {TABLE_INNER: (TABLE_INNER, TABLE_LEAF), INDEX_INNER: (INDEX_INNER, INDEX_LEAF)}
LOG_HEADER, FRAME_HEADER = 32, 24
INTEGER_BYTES = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)
MAIN, LOG = 0, 1  # what a connection reads from
Record: TypeAlias = "tuple[apsw.SQLiteValue, ...]"
# The kinds of values in the rows of each table: (n)ull, (i)nteger, (t)ext, (b)lob. The key of a
# row is null in the record. The last three values of memories came with versions 5 and 8, the last
# one of feedback with version 5.
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


class Pages:
    """The pages of the file that a connection has open, with those in its log. A page that cannot
    be read or decrypted is empty."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._in_log = self._frames()
        stored = Path(connection.filename).stat().st_size // SIZE
        self.count = max(stored, *self._in_log) if self._in_log else stored
        header = self[1][:FIRST]
        known = header.startswith(b"SQLite format 3\0")
        self.usable = SIZE - header[20] if known else SIZE
        self.returns_pages = known and any(header[52:56])
        self.version = int.from_bytes(header[60:64]) if known else 0

    def __getitem__(self, number: int) -> bytes:
        place = self._in_log.get(number)
        try:
            if place is not None:
                return self._connection.read("main", LOG, place, SIZE)[1]
            return self._connection.read("main", MAIN, (number - 1) * SIZE, SIZE)[1]
        except apsw.Error:
            return b""

    def kind(self, number: int) -> int:
        """Return the kind of tree page; 0 for a page that does not look like any."""
        if self._maps_pointers(number):
            return 0
        page, start = self[number], FIRST if number == 1 else 0
        return page[start] if len(page) > start else 0

    def _maps_pointers(self, number: int) -> bool:
        """Return True for a pointer map page: the second page, and one after each page range that
        it describes. A vault created before free pages were returned has none."""
        return self.returns_pages and number % (self.usable // 5 + 1) == 2

    def tree(self, root: int, visited: set[int]) -> tuple[list[int], bool]:
        """Return the pages of a tree that hold rows, and whether all were reached. Pages visited
        before belong to another tree."""
        kind = self.kind(root)
        inner, leaf = next((kinds for kinds in TREES.values() if kind in kinds), (0, 0))
        holding, complete, ahead = [], bool(inner), [root] if inner else []
        while ahead:
            number = ahead.pop()
            kind = self.kind(number) if 0 < number <= self.count else 0
            if number in visited or kind not in (inner, leaf):
                complete = False
                continue
            visited.add(number)
            if kind == inner:
                ahead += reversed(self._children(number))
            if kind != TABLE_INNER:
                holding.append(number)
        return holding, complete

    def records(self, number: int) -> Iterator[tuple[int, Record | None]]:
        """Yield the rows on a page, or None, with their rowid (0 in an index)."""
        page, kind = self[number], self.kind(number)
        for at in self._cells(page, number):
            try:
                if kind == INDEX_INNER:
                    at += 4
                size, at = _varint(page, at)
                rowid = 0
                if kind == TABLE_LEAF:
                    rowid, at = _varint(page, at)
            except IndexError:
                yield 0, None
                continue
            try:
                yield rowid, _record(self._payload(page, at, size, table=kind == TABLE_LEAF))
            except (IndexError, ValueError):
                yield rowid, None

    def _children(self, number: int) -> list[int]:
        page, start = self[number], FIRST if number == 1 else 0
        places = [*self._cells(page, number), start + 8]
        return [int.from_bytes(page[place : place + 4]) for place in places]

    def _cells(self, page: bytes, number: int) -> list[int]:
        start = FIRST if number == 1 else 0
        count = int.from_bytes(page[start + 3 : start + 5])
        first = start + (12 if page[start] in TREES else 8)
        pointers = page[first : first + 2 * min(count, SIZE // 4)]
        return [int.from_bytes(pointers[at : at + 2]) for at in range(0, len(pointers) - 1, 2)]

    def _payload(self, page: bytes, at: int, size: int, *, table: bool) -> bytes:
        """Return a record's bytes: those on its page, and the rest from a chain of pages."""
        usable = self.usable
        most = usable - 35 if table else (usable - 12) * 64 // 255 - 23
        if size <= most:
            return _exactly(page[at : at + size], size)
        if size > self.count * usable:
            raise ValueError("longer than the file")
        least = (usable - 12) * 32 // 255 - 23
        fitting = least + (size - least) % (usable - 4)
        here = fitting if fitting <= most else least
        parts, missing = [page[at : at + here]], size - here
        number = int.from_bytes(page[at + here : at + here + 4])
        while missing > 0:
            if not 0 < number <= self.count:
                raise ValueError("the chain is broken")
            more = self[number]
            parts.append(more[4:usable][:missing])
            missing -= usable - 4
            number = int.from_bytes(more[:4])
        return _exactly(b"".join(parts), size)

    def _frames(self) -> dict[int, int]:
        """Return the offset in the log of the newest committed version of each page."""
        connection = self._connection
        with suppress(apsw.Error):  # opens the log, even if it fails
            connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchall()
        try:
            header = connection.read("main", LOG, 0, LOG_HEADER)[1]
        except apsw.Error:
            return {}
        if header[:3] != b"\x37\x7f\x06":
            return {}
        committed: dict[int, int] = {}
        open_frames: dict[int, int] = {}
        place = LOG_HEADER
        while True:
            complete, frame = connection.read("main", LOG, place, FRAME_HEADER)
            if not complete or frame[8:16] != header[16:24]:  # left from before the log was reset
                return committed
            open_frames[int.from_bytes(frame[:4])] = place + FRAME_HEADER
            if any(frame[4:8]):
                committed |= open_frames
                open_frames = {}
            place += FRAME_HEADER + SIZE


def _exactly(raw: bytes, size: int) -> bytes:
    if len(raw) != size:
        raise ValueError("cut short")
    return raw


def _varint(raw: Sequence[int], at: int) -> tuple[int, int]:
    """Return a number of one to nine bytes, and the offset after it."""
    value = 0
    for place in range(at, at + 8):
        value = value << 7 | raw[place] & 0x7F
        if raw[place] < 0x80:
            return value, place + 1
    value = value << 8 | raw[at + 8]
    return value - (1 << 64 if value >> 63 else 0), at + 9


def _record(raw: bytes) -> Record:
    """Return the values of a record; raise ValueError or IndexError if it is not one."""
    end, at = _varint(raw, 0)
    kinds = []
    while at < end:
        kind, at = _varint(raw, at)
        kinds.append(kind)
    values: list[apsw.SQLiteValue] = []
    for kind in kinds:
        size = INTEGER_BYTES[kind] if kind < 10 else (kind - 12) // 2
        if kind in (7, 10, 11) or size < 0:
            raise ValueError("a vault holds no such value")
        value = _exactly(raw[at : at + size], size)
        at += size
        if kind >= 12:
            values.append(value if kind % 2 == 0 else value.decode(errors="replace"))
        elif kind == 0:
            values.append(None)
        else:
            values.append(kind - 8 if kind > 7 else int.from_bytes(value, signed=True))
    if at != len(raw):
        raise ValueError("more bytes than values")
    return tuple(values)


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

    def as_stored(self) -> Stored:
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
            holding += self._pages_like(SCHEMA, TABLE_LEAF, visited)
        roots = self._roots(holding)
        self.found = bool(roots)
        trees = {name: pages.tree(root, visited) for name, root in roots.items()}
        self._rows: dict[str, list[tuple[int, Record]]] = {}
        for name, shape in (ROWS | ENTRIES).items():
            kind = TABLE_LEAF if name in ROWS else INDEX_LEAF
            holding, complete = trees.get(name, ([], False))
            if not complete and not 0 < self.version < SINCE.get(name, 0):
                self.incomplete.add(name)
                holding += self._pages_like(shape, kind, visited)
            self._rows[name] = self._matching_rows(name, re.compile(shape), holding)
        self._tag_names = self._names("tags", "sqlite_autoindex_tags_1")
        self._tags, self._unplaced = self._tags_of_memories()

    def rows(self, table: str) -> list[Record]:
        if table in ENTRIES:
            return [record for _, record in self._rows[table]]
        return [(key, *record[1:]) for key, record in self._rows[table]]

    @cached_property
    def memories(self) -> list[SalvagedMemory]:
        """Every memory, forgotten ones included; intact ones come first."""
        every = [self._memory(key, record) for key, record in self._rows["memories"]]
        whole = [memory for memory in every if memory.whole]
        ids = {memory.id for memory in whole}
        return whole + [
            one for one in every if not one.whole and one.id not in ids and _is_readable(one)
        ]

    def _memory(self, key: int, record: Record) -> SalvagedMemory:
        values = dict(zip(COLUMNS, record, strict=False)) | {"key": key}
        fields = tuple(values.get(name, LATER.get(name)) for name in FIELDS)
        checksum = values.get("checksum")
        assert checksum is None or isinstance(checksum, bytes)
        whole = checksum is None or row_half(fields) == checksum[:HALF]
        tags, tagged = self._tags_of(key, checksum[HALF:] if checksum and whole else None)
        return SalvagedMemory(fields, tags, whole, tagged)

    def lost(self) -> list[str]:
        """Return the ids of memories that cannot be read, or their row numbers."""
        keys = (*self._tags, *self._unplaced, *(key for key, _ in self._rows["memories"]))
        known: dict[int, str] = dict.fromkeys(keys, "")
        for name in ("sqlite_autoindex_memories_1", "memories_recent"):
            known |= {int(str(key)): str(id) for *_, id, key in self.rows(name)}
        found = {memory.fields[0] for memory in self.memories}
        return [id or f"row {key}" for key, id in sorted(known.items()) if key not in found]

    def export(self, moment: datetime) -> Iterator[Stored | FeedbackEvent]:
        """Yield the memories and the feedback for an export. A memory that is not what was written
        counts as forgotten at `moment`."""
        for memory in self.memories:
            item = memory.as_stored()
            yield item if memory.whole or item.forgotten else item._replace(forgotten_at=moment)
        for _, query, id, accepted, at, *_ in self.rows("feedback"):
            when = from_micros(at)  # type: ignore[arg-type]
            yield FeedbackEvent(str(query), str(id), bool(accepted), when)

    def _roots(self, holding: Sequence[int]) -> dict[str, int]:
        roots = {}
        for _, record in self._matching_rows("", re.compile(SCHEMA), holding):
            if isinstance(record[3], int) and record[3] > 1:
                roots[str(record[1])] = record[3]
        return roots

    def _pages_like(self, shape: str, kind: int, visited: set[int]) -> list[int]:
        """Return the pages outside of trees whose rows all look like those of this table."""
        pattern, found = re.compile(shape), []
        for number in range(1, self._pages.count + 1):
            if number in visited or self._pages.kind(number) != kind:
                continue
            records = [record for _, record in self._pages.records(number)]
            if records and all(record and _fits(pattern, record) for record in records):
                visited.add(number)
                found.append(number)
        return found

    def _matching_rows(
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


def _is_readable(memory: SalvagedMemory) -> bool:
    try:
        memory.as_stored()
    except BadRow:
        return False
    return True


def _fits(pattern: re.Pattern[str], record: Record) -> bool:
    kinds = "".join("n" if value is None else KINDS[type(value)] for value in record)
    return pattern.fullmatch(kinds) is not None
