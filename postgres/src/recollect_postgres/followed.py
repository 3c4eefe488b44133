"""The codes of a model's vectors in the memory of a server, which propose the nearest, by the scan
that a vault in a file has.

A thread reads the vectors; until it has, PostgreSQL compares. What is put later is read by its
number. What was removed is not looked for: it is missing when what was proposed is read, in the
transaction of the search.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from struct import pack
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

import numpy as np
import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

from recollect.errors import StoreError
from recollect.store import vector_codes
from recollect.store.base import VectorMatch
from recollect.store.cosines import cut_vectors
from recollect.store.sqlite.writing import ENDING_S
from recollect.store.vector_codes import CodedVectors, NearVector
from recollect.types import Span, best_first
from recollect_postgres.pool import Connection

if TYPE_CHECKING:
    from recollect.store.base import Vector
    from recollect.store.vector_codes import Keys
    from recollect_postgres.database import PostgresDatabase

HEAD = 4  # bytes
FEW = 1_000  # PostgreSQL compares so many in a millisecond
# Of all models of all vaults of a process: 100 MB as codes. Of more PostgreSQL finds the nearest.
MOST = 1_000_000
READ_ROWS = 4096
MOST_BEHIND = 2 * READ_ROWS  # read by the search that meets them; of more, all are read anew
MOST_MISSING = 0.25  # of what is proposed; where more is gone, all are read again
PASSAGE_BITS = 16  # a row is named by its memory's key, and by its passage in the lower bits
OF_MODEL = "FROM vectors v WHERE v.vault = vault() AND v.model = %s"
COUNT = f"SELECT count(*), coalesce(max(v.seq), 0) {OF_MODEL}"
EVERY = f"""
SELECT v.memory, v.passage, v.vector {OF_MODEL} AND (v.memory, v.passage) > (%s, %s)
 ORDER BY v.memory, v.passage LIMIT {READ_ROWS}"""
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
        self._coded: CodedVectors | None = None
        self._seq = 0  # read so far
        self._again = 0  # before that number comes, there is nothing to be gained from reading them
        self._thread: threading.Thread | None = None
        self._closing = False
        _every.add(self)

    @property
    def size(self) -> int:
        return 0 if self._coded is None else self._coded.size

    def follow(self, connection: Connection, seq: int) -> bool:
        """Return whether all is in memory that the transaction sees, whose largest number is
        `seq`."""
        with self._guard:
            if self._coded is not None and seq > self._seq:
                asked = (self._model, self._seq)
                rows = connection.execute(ADDED, asked, binary=True).fetchall()
                few = len(rows) <= MOST_BEHIND
                more = self._encoded(rows, signs=self._coded.signs) if few else None
                self._coded = more and vector_codes.append(self._coded, more)
                self._seq = rows[-1][3]
            if self._coded is None and seq >= self._again:
                self._load_beside()
            return self._coded is not None

    def _encoded(self, rows: list[Any], *, signs: bool) -> CodedVectors:
        names, vectors = self._read(rows)
        keys = names >> PASSAGE_BITS
        return vector_codes.unpack(vector_codes.pack(names, keys, vectors, signs=signs))

    def _read(self, rows: list[Any]) -> tuple[Keys, Vector]:
        """Return the names of rows, and their vectors."""
        memories, passages = np.array([row[:2] for row in rows], np.int64).reshape(-1, 2).T
        vectors = cut_vectors(as_rows([row[2] for row in rows]), self._width)
        return memories << PASSAGE_BITS | passages, vectors

    def nearest(
        self, connection: Connection, query: Vector, limit: int, among: Keys | None
    ) -> list[VectorMatch]:
        """Return the `limit` nearest among the memories with these keys; None: among all."""
        coded = self._coded
        assert coded is not None, "It was not followed."
        known: dict[int, tuple[str, int, int]] = {}  # id and span, by name
        proposed = missing = 0

        def read(names: Keys) -> tuple[Keys, Vector]:
            nonlocal proposed, missing
            proposed += len(names)
            keys = np.unique(names >> PASSAGE_BITS).tolist()
            rows = connection.execute(PROPOSED, (self._model, keys), binary=True).fetchall()
            if not rows:
                missing += len(names)
                return names[:0], np.empty((0, len(query)), np.float32)
            there, vectors = self._read(rows)
            known.update(zip(there.tolist(), (row[3:] for row in rows), strict=True))
            order = np.argsort(there)
            places = order[np.searchsorted(there, names, sorter=order) % len(there)]
            found = there[places] == names
            missing += len(names) - int(np.count_nonzero(found))
            return names[found], vectors[places[found]]

        passing = vector_codes.select_passing(coded, among, ())
        best = vector_codes.search(passing, query, limit, read)
        if missing > MOST_MISSING * proposed:
            with self._guard:
                self._load_beside()

        def match(near: NearVector) -> VectorMatch:
            id, start, stop = known[near.seq]
            passage = near.seq % (1 << PASSAGE_BITS)
            return VectorMatch(id, near.cosine, passage, Span(start, stop), near.key)

        return best_first(map(match, best))[:limit]

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
            count, seq = row
            self._again = seq + FEW
            if not FEW < count <= MOST - sum(one.size for one in _every if one is not self):
                return
            coded = vector_codes.make_room(count, self._width)
            for rows in self._batches(connection):
                coded = vector_codes.append(coded, self._encoded(rows, signs=coded.signs)) or coded
            with self._guard:
                self._coded, self._seq, self._again = coded, seq, 0

    def _batches(self, connection: Connection) -> Iterator[list[Any]]:
        """Yield all rows, some at a time, in the order of their names."""
        after = (0, -1)
        while rows := connection.execute(EVERY, (self._model, *after), binary=True).fetchall():
            if self._closing:
                raise StoreError("The vault is closed.")
            yield rows
            after = rows[-1][:2]

    def settle(self) -> None:
        """Wait until they are in memory, if they are being read."""
        if self._thread is not None:
            self._thread.join()

    def close(self) -> None:
        self._closing = True
        if self._thread is not None:
            self._thread.join(ENDING_S)
