"""The nearest vectors: what a server has in memory proposes them, else PostgreSQL, by comparing all
that pass the filter or, of many, by an HNSW index. float64 products of what is proposed decide, as
they do everywhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recollect.errors import DimensionMismatch
from recollect.store.base import VectorMatch
from recollect.store.cosines import cosines, cut_vectors
from recollect.types import Filter, Span, best_first
from recollect_postgres.database import PostgresDatabase
from recollect_postgres.filters import SqlCondition, settled, where
from recollect_postgres.followed import FollowedVectors, as_rows, as_value
from recollect_postgres.pool import Connection

if TYPE_CHECKING:
    from recollect.store.base import Vector
    from recollect.store.vector_codes import Keys

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
SPARE = 16  # proposed beyond the limit: mostly they show that nothing equals the last
# So few that pass a filter are compared with each other at once: an index would look at more.
FEW_PASSING = 5_000
# How many the index keeps in view; what that finds, benchmarks/bench_postgres.py --hnsw tells.
VIEW = "SET LOCAL hnsw.ef_search = {view}; SET LOCAL hnsw.iterative_scan = strict_order"
LEAST_VIEW, MOST_VIEW = 800, 1000
ROUGH = 1e-5  # by so much a float32 product may be wrong
APPROXIMATE = (
    "approximate: this model has so many vectors that an index proposes the nearest, and it may "
    "miss some"
)


class _Model(NamedTuple):
    key: int
    dimensions: int
    seq: int
    indexed: bool


def nearest(
    database: PostgresDatabase,
    followed: Callable[[int, int], FollowedVectors] | None,
    identity: str,
    vector: Vector,
    limit: int,
    filter: Filter,
    dimensions: int,
) -> list[VectorMatch]:
    """The `limit` live memories nearest by cosine among those that pass the filter. `followed`:
    gives what is in memory of a model, of this width."""
    with database.reading() as connection:
        found = connection.execute(MODEL, (identity,), binary=True).fetchall()
        if not found or limit < 1:
            return []
        model = _Model(*found[0])
        if model.dimensions != len(vector):
            raise DimensionMismatch(model.dimensions, len(vector))
        query = cut_vectors(vector[None, :], dimensions)[0]
        filter = settled(filter, database, connection)
        condition = where(filter, database) if filter.narrows() else None
        if followed is not None and not model.indexed:
            vectors = followed(model.key, len(query))
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
    """The keys of all that pass, which come as one value: each as a row takes ten times as long."""
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
    """More are proposed again where equal cosines straddle the cut, since there ids decide, or
    several passages of one memory stand among the best."""
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
        last = -float(rows[-1][-1]) if rows else 0.0  # the product of the last that was proposed
        if len(rows) < count or (len(best) > limit and best[limit - 1].score - last > ROUGH):
            return best[:limit]
        if indexed and len(best) >= limit:
            return best[:limit]  # what it leaves out may be nearer anyway
        count *= 4


def _distance(model: _Model, dimensions: int, *, indexed: bool) -> str:
    if indexed:
        half = f"halfvec({model.dimensions})"
        return f"((v.vector::{half}) <#> (%b::vector)::{half})"
    if dimensions < model.dimensions:
        return f"(l2_normalize(subvector(v.vector, 1, {dimensions})) <#> %b::vector)"
    return "(v.vector <#> %b::vector)"


def _matches(rows: list[tuple[Any, ...]], query: Vector) -> list[VectorMatch]:
    """Each memory once, by its best passage; best first, equal ones by id."""
    if not rows:
        return []
    vectors = cut_vectors(as_rows([row[5] for row in rows]), len(query))
    best: dict[str, VectorMatch] = {}
    found = zip(cosines(vectors, query).tolist(), rows, strict=True)
    for cosine, (id, key, passage, start, stop, _, _) in found:
        known = best.get(id)
        if known is None or (cosine, -passage) > (known.score, -known.passage):
            best[id] = VectorMatch(id, cosine, passage, Span(start, stop), key)
    return best_first(best.values())
