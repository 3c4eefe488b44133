"""The pages of a vault file, read below SQL. SQLite stops at the first damaged page; the rows on
the other pages can still be read. The format: https://www.sqlite.org/fileformat2.html."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

import apsw

SIZE = 4096  # of a page, in every vault
FIRST = 100  # bytes of the file's header, before the first page's own
TABLE_INNER, TABLE_LEAF, INDEX_INNER, INDEX_LEAF = 0x05, 0x0D, 0x02, 0x0A
TREES = {TABLE_INNER: (TABLE_INNER, TABLE_LEAF), INDEX_INNER: (INDEX_INNER, INDEX_LEAF)}
LOG_HEADER, FRAME_HEADER = 32, 24
INTEGER_BYTES = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)
MAIN, LOG = 0, 1  # what a connection reads from

Record: TypeAlias = "tuple[apsw.SQLiteValue, ...]"


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
        """Yield the rows on a page with their rowid (0 in an index); None for one that cannot be
        read."""
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
        """Return the offset of each cell of a page."""
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
        with suppress(apsw.Error):  # it opens the log, whatever it finds
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
