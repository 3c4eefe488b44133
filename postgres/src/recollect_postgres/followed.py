"""The vectors of a model in the memory of a server, which propose the nearest: few as they are,
many as codes, by the scan that a vault in a file has.

They are read beside everything else; until then PostgreSQL compares. What is put later is read by
its number. What is removed is not looked for: it is missing when what was proposed is read, in the
transaction of the search.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from struct import pack
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np
import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

from recollect.errors import StoreError
from recollect.store.base import VectorMatch
from recollect.store.sqlite import scan, vector_rows
from recollect.store.sqlite.vector_codes import row_size
from recollect.store.sqlite.vector_rows import EXACT_ROWS, READ_ROWS, VectorRows
from recollect.store.sqlite.writing import ENDING_S
from recollect.types import Span, best_first
from recollect_postgres.pool import Connection

if TYPE_CHECKING:
    from recollect.store.base import Vector
    from recollect.store.sqlite.vector_rows import Keys
    from recollect_postgres.database import PostgresDatabase

HEAD = 4  # bytes
FEW = 1_000  # PostgreSQL compares so many in a millisecond
# Of all models of all vaults of a process: 200 MB as codes. Of more PostgreSQL finds the nearest.
MOST = 1_000_000
MOST_BEHIND = 2 * READ_ROWS  # read by the search that meets them; of more, all are read anew
PASSAGE_BITS = 16  # a row is named by its memory's key, and by its passage in the lower bits
OF_MODEL = "FROM vectors v WHERE v.vault = vault() AND v.model = %s"
COUNT = f"SELECT count(*), coalesce(max(v.seq), 0), max(v.memory) {OF_MODEL}"
EVERY = f"""
SELECT v.memory, v.passage, v.vector {OF_MODEL} AND (v.memory, v.passage) > (%s, %s)
 ORDER BY v.memory, v.passage LIMIT {READ_ROWS}"""
SAMPLE = f"SELECT v.vector {OF_MODEL} AND v.memory = ANY(%s)"
ADDED = f"""
SELECT v.memory, v.passage, v.vector, v.seq {OF_MODEL} AND v.seq > %s
 ORDER BY v.seq LIMIT {MOST_BEHIND + 1}"""
# The vectors of memories, one memory after the other (OFFSET 0 keeps it so): before PostgreSQL has
# looked at the table once, it would rather read all vectors of the model to find a few.
OF_EACH = """
 CROSS JOIN LATERAL (SELECT * FROM vectors v WHERE v.vault = vault() AND v.memory = m.key
                        AND v.model = {model} OFFSET 0) v"""
PROPOSED = f"""
SELECT v.memory, v.passage, v.vector, m.id, v.start, v.stop
  FROM memories m{OF_EACH.format(model="%s")}
 WHERE m.vault = vault() AND m.key = ANY(%s)"""

_every: WeakSet[FollowedVectors] = WeakSet()


class VectorValue(bytes):
    """A vector on its way to the server."""


class _Sent(Dumper):
    format = Format.BINARY  # without a type: the server knows which one the place is for

    def dump(self, obj: VectorValue) -> bytes:
        return bytes(obj)


psycopg.adapters.register_dumper(VectorValue, _Sent)


def as_value(vector: Vector) -> VectorValue:
    return VectorValue(pack(">HH", len(vector), 0) + vector.astype(">f4").tobytes())


def as_rows(sent: Sequence[bytes]) -> Vector:
    """Vectors of one model as rows."""
    if not sent:
        return np.empty((0, 0), np.float32)
    joined = np.frombuffer(b"".join(sent), np.uint8).reshape(len(sent), -1)
    return joined[:, HEAD:].copy().view(">f4").astype(np.float32)


class FollowedVectors:
    """Those of one model, cut to this width."""

    def __init__(self, database: PostgresDatabase, model: int, width: int) -> None:
        self._database = database
        self._model = model
        self._width = width
        self._guard = threading.Lock()
        self._stored: VectorRows | None = None
        self._seq = 0  # read so far
        self._again = 0  # before that number comes, there is nothing to be gained from reading them
        self._thread: threading.Thread | None = None
        self._closing = False
        _every.add(self)

    @property
    def size(self) -> int:
        return 0 if self._stored is None else self._stored.size

    def follow(self, connection: Connection, seq: int) -> bool:
        """Whether all is in memory that the transaction sees, whose largest number this is."""
        with self._guard:
            if self._stored is not None and seq > self._seq:
                asked = (self._model, self._seq)
                rows = connection.execute(ADDED, asked, binary=True).fetchall()
                few = len(rows) <= MOST_BEHIND
                self._stored = self._appended(self._stored, rows) if few else None
                self._seq = rows[-1][3]
            if self._stored is None and seq >= self._again:
                self._load_beside()
            return self._stored is not None

    def _appended(self, stored: VectorRows, rows: list[Any]) -> VectorRows:
        names, vectors = self._read(rows)
        keys = names >> PASSAGE_BITS
        stored.alive[: stored.size] &= ~np.isin(stored.keys[: stored.size], keys)
        return vector_rows.coded(vector_rows.appended(stored, names, keys, vectors))

    def _read(self, rows: list[Any]) -> tuple[Keys, Vector]:
        """The names of rows, and their vectors."""
        memories, passages = np.array([row[:2] for row in rows], np.int64).reshape(-1, 2).T
        vectors = vector_rows.shaped(as_rows([row[2] for row in rows]), self._width)
        return memories << PASSAGE_BITS | passages, vectors

    def nearest(
        self, connection: Connection, query: Vector, limit: int, among: Keys | None
    ) -> list[VectorMatch]:
        """The `limit` nearest among the memories with these keys; None: among all."""
        stored = self._stored
        assert stored is not None, "It was not followed."
        passing = vector_rows.passing(stored, among, ())
        known: dict[int, tuple[str, int, int]] = {}  # id and span, by name

        @cache  # where too few pass, the same are asked for again
        def read(names: bytes) -> tuple[Keys, Vector]:
            asked = np.frombuffer(names, np.int64)
            keys = np.unique(asked >> PASSAGE_BITS).tolist()
            rows = connection.execute(PROPOSED, (self._model, keys), binary=True).fetchall()
            if not rows:
                return asked[:0], np.empty((0, len(query)), np.float32)
            there, vectors = self._read(rows)
            known.update(zip(there.tolist(), (row[3:] for row in rows), strict=True))
            order = np.argsort(there)
            places = order[np.searchsorted(there, asked, sorter=order) % len(there)]
            found = there[places] == asked
            return asked[found], vectors[places[found]]

        while True:
            best = vector_rows.nearest(passing, query, limit, lambda asked: read(asked.tobytes()))
            names = stored.seqs[[near.row for near in best]]
            if stored.codes is None and best:
                read(names.tobytes())
            gone = [near.row for near in best if int(stored.seqs[near.row]) not in known]
            if not gone:
                break
            mask = passing.mask.copy()
            mask[gone] = False
            passing = passing._replace(mask=mask, total=passing.total - len(gone))
        matches = [
            VectorMatch(id, near.cosine, name % (1 << PASSAGE_BITS), Span(start, stop), near.key)
            for near, name in zip(best, names.tolist(), strict=True)
            for id, start, stop in (known[name],)
        ]
        return best_first(matches)[:limit]

    def _load_beside(self) -> None:
        """Begin to read all, unless this process does so already."""
        if not self._closing and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(
                target=self._load, name="recollect-vectors", daemon=True
            )
            self._thread.start()

    def _load(self) -> None:
        """Read all of them, unless they are too many, or so few that it saves nothing."""
        # What fails is tried again by the next search.
        with suppress(StoreError), self._database.reading() as connection:
            [row] = connection.execute(COUNT, (self._model,), binary=True).fetchall()
            count, seq, last = row
            self._again = seq + FEW
            if not FEW < count <= MOST - sum(one.size for one in _every if one is not self):
                return
            points = self._points(connection, last) if count > EXACT_ROWS else None
            if points is not None or count <= EXACT_ROWS:
                stored = self._loaded(connection, count, points)
                with self._guard:
                    self._stored, self._seq, self._again = stored, seq, 0

    def _points(self, connection: Connection, last: int) -> Vector | None:
        """A codebook that was learned from some of the vectors; None without faiss."""
        spread = np.unique(np.linspace(1, last, scan.LEARNED_FROM, dtype=np.int64)).tolist()
        sample = connection.execute(SAMPLE, (self._model, spread), binary=True).fetchall()
        if not sample:
            return None
        rows = as_rows([vector for (vector,) in sample])
        return scan.learned(vector_rows.shaped(rows, self._width))

    def _loaded(self, connection: Connection, count: int, points: Vector | None) -> VectorRows:
        """All rows. Codes go to their place without a second copy; rows that only fill up a block
        of them are not alive."""
        if points is None:
            stored = vector_rows.with_room(count, self._width)
            for names, vectors in self._chunks(connection):
                stored = vector_rows.appended(stored, names, names >> PASSAGE_BITS, vectors)
            return stored
        codes, slots = self._no_codes(points), -(-count // scan.BLOCK) * scan.BLOCK
        stored = vector_rows.with_room(slots, self._width, codes)._replace(size=slots)
        stored.keys[:slots] = 0

        def packed() -> Iterator[bytes]:
            first = 0
            for names, vectors in self._chunks(connection):
                last = first + len(names)
                stored.seqs[first:last], stored.keys[first:last] = names, names >> PASSAGE_BITS
                stored.alive[first:last] = True
                first, some = last, self._no_codes(points)
                some.add(vectors)
                yield some.packed()

        codes.take(packed(), slots * row_size(self._width))
        return stored

    def _no_codes(self, points: Vector) -> scan.Codes:
        codes = scan.codes(self._width, points)
        assert codes is not None, "Points were learned, so there is faiss."
        return codes

    def _chunks(self, connection: Connection) -> Iterator[tuple[Keys, Vector]]:
        """All of them, some at a time, in the order of their names."""
        behind = (0, -1)
        while rows := connection.execute(EVERY, (self._model, *behind), binary=True).fetchall():
            if self._closing:
                raise StoreError("The vault is closed.")
            yield self._read(rows)
            behind = rows[-1][:2]

    def settle(self) -> None:
        """Wait until they are in memory, if they are being read."""
        if self._thread is not None:
            self._thread.join()

    def close(self) -> None:
        self._closing = True
        if self._thread is not None:
            self._thread.join(ENDING_S)
