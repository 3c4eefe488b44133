"""Find the nearest vectors. A server's memory proposes them, else PostgreSQL: it compares all that
pass the filter or, if there are many, uses an HNSW index. Cosines in float64 decide among the
proposed, as everywhere.

A server keeps codes of a model's vectors in memory and scans them as for a vault in a file. A
thread reads the vectors; until it has finished, PostgreSQL compares. Later vectors are read by
their number. Removed ones are noticed when the proposed vectors are read, in the transaction of the
search.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from struct import pack
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakSet

import numpy as np
import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

from recollect.errors import DimensionMismatch, StoreError
from recollect.store import vector_codes
from recollect.store.base import VectorMatch
from recollect.store.sqlite.writing import ENDING_S
from recollect.store.vector_codes import CodedVectors, NearVector, cosines, cut_vectors
from recollect.types import Filter, Span, best_first
from recollect_postgres.database import PostgresDatabase
from recollect_postgres.memories import SqlCondition, where, without_archived
from recollect_postgres.pool import Connection

if TYPE_CHECKING:
    from recollect.store.base import Vector
    from recollect.store.vector_codes import Keys
    from recollect_postgres.database import PostgresDatabase

HEAD = 4  # bytes
FEWEST = 1_000  # vectors that PostgreSQL compares in a millisecond
# Vectors of all models and vaults of a process: 100 MB as codes. Beyond that PostgreSQL compares.
MOST_IN_MEMORY = 1_000_000
READ_ROWS = 4096
MOST_NEW = 2 * READ_ROWS  # read by the search that meets them; if there are more, all are reread
MOST_MISSING = 0.25  # share of the proposed vectors; if more were removed, all are reread
PASSAGE_BITS = 16  # a row is named by its memory's key, and by its passage in the lower bits
OF_MODEL = "FROM vectors v WHERE v.vault = vault() AND v.model = %s"
COUNT = f"SELECT count(*), coalesce(max(v.seq), 0) {OF_MODEL}"
ALL_ROWS = f"""
SELECT v.memory, v.passage, v.vector {OF_MODEL} AND (v.memory, v.passage) > (%s, %s)
 ORDER BY v.memory, v.passage LIMIT {READ_ROWS}"""
ADDED = f"""
SELECT v.memory, v.passage, v.vector, v.seq {OF_MODEL} AND v.seq > %s
 ORDER BY v.seq LIMIT {MOST_NEW + 1}"""
# The vectors of each memory (OFFSET 0 keeps the join): before its first ANALYZE PostgreSQL would
# rather read all vectors of the model to find a few.
OF_EACH = """
 CROSS JOIN LATERAL (SELECT * FROM vectors v WHERE v.vault = vault() AND v.memory = m.key
                        AND v.model = {model} OFFSET 0) v"""
ROWS_OF = f"""
SELECT v.memory, v.passage, v.vector, m.id, v.start, v.stop
  FROM memories m{OF_EACH.format(model="%s")}
 WHERE m.vault = vault() AND m.key = ANY(%s)"""

_every: WeakSet[CachedVectors] = WeakSet()


class VectorValue(bytes):
    """A vector in the format that is sent to the server."""


class _VectorDumper(Dumper):
    format = Format.BINARY  # without a type: the server knows the parameter's

    def dump(self, obj: VectorValue) -> bytes:
        return bytes(obj)


psycopg.adapters.register_dumper(VectorValue, _VectorDumper)


def as_value(vector: Vector) -> VectorValue:
    return VectorValue(pack(">HH", len(vector), 0) + vector.astype(">f4").tobytes())


def as_rows(sent: Sequence[bytes]) -> Vector:
    """Return vectors of one model as rows."""
    if not sent:
        return np.empty((0, 0), np.float32)
    joined = np.frombuffer(b"".join(sent), np.uint8).reshape(len(sent), -1)
    return joined[:, HEAD:].copy().view(">f4").astype(np.float32)


class CachedVectors:
    """The vectors of one model, cut to this width."""

    def __init__(self, database: PostgresDatabase, model: int, width: int) -> None:
        self._database = database
        self._model = model
        self._width = width
        self._guard = threading.Lock()
        self._coded: CodedVectors | None = None
        self._seq = 0  # the largest number that was read
        self._reload_at = 0  # loading again is useless before this number
        self._thread: threading.Thread | None = None
        self._closing = False
        _every.add(self)

    @property
    def size(self) -> int:
        return 0 if self._coded is None else self._coded.size

    def follow(self, connection: Connection, seq: int) -> bool:
        """Read newer vectors; return True if memory holds all that the transaction sees, up to the
        number `seq`."""
        with self._guard:
            if self._coded is not None and seq > self._seq:
                asked = (self._model, self._seq)
                rows = connection.execute(ADDED, asked, binary=True).fetchall()
                few = len(rows) <= MOST_NEW
                more = self._encode(rows, signs=self._coded.signs) if few else None
                self._coded = more and vector_codes.append(self._coded, more)
                self._seq = rows[-1][3]
            if self._coded is None and seq >= self._reload_at:
                self._start_loading()
            return self._coded is not None

    def _encode(self, rows: list[Any], *, signs: bool) -> CodedVectors:
        names, vectors = self._read(rows)
        keys = names >> PASSAGE_BITS
        return vector_codes.unpack(vector_codes.pack(names, keys, vectors, signs=signs))

    def _read(self, rows: list[Any]) -> tuple[Keys, Vector]:
        """Return the names and the vectors of rows."""
        memories, passages = np.array([row[:2] for row in rows], np.int64).reshape(-1, 2).T
        vectors = cut_vectors(as_rows([row[2] for row in rows]), self._width)
        return memories << PASSAGE_BITS | passages, vectors

    def nearest(
        self, connection: Connection, query: Vector, limit: int, among: Keys | None
    ) -> list[VectorMatch]:
        """Return the `limit` nearest among the memories with these keys, or among all."""
        coded = self._coded
        assert coded is not None, "Call `follow` first."
        known: dict[int, tuple[str, int, int]] = {}  # id and span, by name
        proposed = missing = 0

        def read(names: Keys) -> tuple[Keys, Vector]:
            nonlocal proposed, missing
            proposed += len(names)
            keys = np.unique(names >> PASSAGE_BITS).tolist()
            rows = connection.execute(ROWS_OF, (self._model, keys), binary=True).fetchall()
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
                self._start_loading()

        def match(near: NearVector) -> VectorMatch:
            id, start, stop = known[near.seq]
            passage = near.seq % (1 << PASSAGE_BITS)
            return VectorMatch(id, near.cosine, passage, Span(start, stop), near.key)

        return best_first(map(match, best))[:limit]

    def _start_loading(self) -> None:
        """Start the thread that reads all vectors, unless it runs."""
        if not self._closing and (self._thread is None or not self._thread.is_alive()):
            self._thread = threading.Thread(
                target=self._load, name="recollect-vectors", daemon=True
            )
            self._thread.start()

    def _load(self) -> None:
        """Read all vectors, unless they are too many, or too few to save time."""
        # The next search tries again what fails.
        with suppress(StoreError), self._database.reading() as connection:
            [row] = connection.execute(COUNT, (self._model,), binary=True).fetchall()
            count, seq = row
            self._reload_at = seq + FEWEST
            if (
                not FEWEST
                < count
                <= MOST_IN_MEMORY - sum(one.size for one in _every if one is not self)
            ):
                return
            coded = vector_codes.make_room(count, self._width)
            for rows in self._batches(connection):
                coded = vector_codes.append(coded, self._encode(rows, signs=coded.signs)) or coded
            with self._guard:
                self._coded, self._seq, self._reload_at = coded, seq, 0

    def _batches(self, connection: Connection) -> Iterator[list[Any]]:
        """Yield all rows in batches, in the order of their names."""
        after = (0, -1)
        while rows := connection.execute(ALL_ROWS, (self._model, *after), binary=True).fetchall():
            if self._closing:
                raise StoreError("The vault is closed.")
            yield rows
            after = rows[-1][:2]

    def settle(self) -> None:
        """Wait for the thread that reads the vectors, if it runs."""
        if self._thread is not None:
            self._thread.join()

    def close(self) -> None:
        self._closing = True
        if self._thread is not None:
            self._thread.join(ENDING_S)


# The model, the largest number of its vectors, and whether it has an index that is ready.
MODEL = """
SELECT o.key, o.dimensions, (SELECT coalesce(max(v.seq), 0) FROM vectors v
                              WHERE v.vault = vault() AND v.model = o.key),
       coalesce((SELECT i.indisvalid FROM pg_index i
    WHERE i.indexrelid = to_regclass('hnsw_' || o.key)), false)
  FROM models o WHERE o.vault = vault() AND o.identity = %s"""
PROPOSED = """
SELECT m.id, v.memory, v.passage, v.start, v.stop, v.vector, v.distance FROM (
    SELECT v.*, {distance} AS distance FROM vectors v
     WHERE v.vault = vault() AND v.model = {model}{among} ORDER BY distance LIMIT %s
) v JOIN memories m ON m.vault = vault() AND m.key = v.memory ORDER BY v.distance"""
AMONG = " AND v.memory IN (SELECT m.key FROM memories m WHERE {condition})"
PASSING = "SELECT count(*) FROM (SELECT FROM memories m WHERE {condition} LIMIT {most}) passing"
SPARE = 16  # proposed beyond the limit: mostly they show that no other equals the last
# Up to this number of passing memories are compared without the index, which would look at more.
FEW_PASSING = 5_000
# Candidates of the index; benchmarks/bench_postgres.py --hnsw shows what it finds with them.
VIEW = "SET LOCAL hnsw.ef_search = {view}; SET LOCAL hnsw.iterative_scan = strict_order"
LEAST_VIEW, MOST_VIEW = 800, 1000
ROUGH = 1e-5  # largest error of a float32 product
APPROXIMATE = (
    "approximate: because of its many vectors this model is searched by an index, which may "
    "miss some"
)


class _Model(NamedTuple):
    key: int
    dimensions: int
    seq: int
    indexed: bool


def nearest(
    database: PostgresDatabase,
    cached: Callable[[int, int], CachedVectors] | None,
    identity: str,
    vector: Vector,
    limit: int,
    filter: Filter,
    dimensions: int,
) -> list[VectorMatch]:
    """Return the `limit` live memories nearest by cosine among those that pass the filter.

    cached: returns the vectors in memory of a model and a width.
    """
    with database.reading() as connection:
        found = connection.execute(MODEL, (identity,), binary=True).fetchall()
        if not found or limit < 1:
            return []
        model = _Model(*found[0])
        if model.dimensions != len(vector):
            raise DimensionMismatch(model.dimensions, len(vector))
        query = cut_vectors(vector[None, :], dimensions)[0]
        filter = without_archived(filter, database, connection)
        condition = where(filter, database) if filter.narrows() else None
        if cached is not None and not model.indexed:
            vectors = cached(model.key, len(query))
            if vectors.follow(connection, model.seq):
                among = None if condition is None else _keys(connection, condition)
                return vectors.nearest(connection, query, limit, among)
        indexed = model.indexed and len(query) == model.dimensions
        if indexed and condition is not None:
            sql = PASSING.format(condition=condition.sql, most=FEW_PASSING + 1)
            [(passing,)] = connection.execute(sql, condition.values).fetchall()
            indexed = passing > FEW_PASSING
        if indexed:
            best = _best(connection, model, query, limit, condition, indexed=True)
            if len(best) >= limit:
                database.note("vector", APPROXIMATE)
                return best
        return _best(connection, model, query, limit, condition, indexed=False)


def _keys(connection: Connection, condition: SqlCondition) -> Keys:
    """Return the keys of all that pass, as one value: rows would take ten times as long."""
    sql = f"SELECT string_agg(int8send(m.key), '') FROM memories m WHERE {condition.sql}"
    [(keys,)] = connection.execute(sql, condition.values, binary=True).fetchall()
    return np.frombuffer(keys or b"", ">i8").astype(np.int64)


def _best(
    connection: Connection,
    model: _Model,
    query: Vector,
    limit: int,
    condition: SqlCondition | None,
    *,
    indexed: bool,
) -> list[VectorMatch]:
    """Ask for more if equal cosines straddle the cut, where ids decide, or if several passages of
    one memory are among the best."""
    among, values = "", list[Any]()
    if condition is not None:
        among, values = AMONG.format(condition=condition.sql), condition.values
    distance = _distance(model, len(query), indexed=indexed)
    sql = PROPOSED.format(distance=distance, model=model.key, among=among)
    value, count = as_value(query), limit + SPARE
    while True:
        if indexed:
            view = min(max(2 * count, LEAST_VIEW), MOST_VIEW)
            connection.execute(VIEW.format(view=view))
        rows = connection.execute(sql, (value, *values, count), binary=True).fetchall()
        best = _matches(rows, query)
        last = -float(rows[-1][-1]) if rows else 0.0  # the product of the last proposed one
        if len(rows) < count or (len(best) > limit and best[limit - 1].score - last > ROUGH):
            return best[:limit]
        if indexed and len(best) >= limit:
            return best[:limit]  # the index is approximate anyway
        count *= 4


def _distance(model: _Model, dimensions: int, *, indexed: bool) -> str:
    if indexed:
        half = f"halfvec({model.dimensions})"
        return f"((v.vector::{half}) <#> (%b::vector)::{half})"
    if dimensions < model.dimensions:
        return f"(l2_normalize(subvector(v.vector, 1, {dimensions})) <#> %b::vector)"
    return "(v.vector <#> %b::vector)"


def _matches(rows: list[tuple[Any, ...]], query: Vector) -> list[VectorMatch]:
    """Return each memory once, by its best passage; best first, ties by id."""
    if not rows:
        return []
    vectors = cut_vectors(as_rows([row[5] for row in rows]), len(query))
    best: dict[str, VectorMatch] = {}
    scored = zip(cosines(vectors, query).tolist(), rows, strict=True)
    for cosine, (id, key, passage, start, stop, _, _) in scored:
        known = best.get(id)
        if known is None or (cosine, -passage) > (known.score, -known.passage):
            best[id] = VectorMatch(id, cosine, passage, Span(start, stop), key)
    return best_first(best.values())
