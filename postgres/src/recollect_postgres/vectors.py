"""Store vectors in pgvector's type, queue memories for them, and compare those of given ids."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from recollect.errors import DimensionMismatch
from recollect.lifetime import Lifetime
from recollect.store.base import (
    Coverage,
    EmbeddedText,
    NearPassage,
    StoredVector,
    VectorMatch,
)
from recollect.store.sqlite.vector_index import by_memory, without_tokens
from recollect.store.vector_codes import best_cosines, between, nearest_rows
from recollect.types import Filter, Memory, Span
from recollect_postgres import nearest
from recollect_postgres.database import PostgresDatabase
from recollect_postgres.nearest import OF_EACH, CachedVectors, as_rows, as_value
from recollect_postgres.pool import Connection
from recollect_postgres.waiting import MODEL, WaitingMemories, own_mark, texts_of

if TYPE_CHECKING:
    from recollect.store.base import Vector

OWN = 8  # memories of a save that its process embeds itself
MOST_CACHED = 4  # a vault has one model, or two during a switch
STORED = f"""
SELECT m.id, v.start, v.stop, v.vector, t.packed
  FROM memories m
  JOIN models o ON o.vault = vault() AND o.identity = %s{OF_EACH.format(model="o.key")}
  LEFT JOIN token_vectors t ON t.vault = vault() AND t.model = o.key AND t.memory = m.key
        AND t.passage = v.passage
 WHERE m.vault = vault() AND m.id = ANY(%s) ORDER BY v.passage"""
WHOLE = """
SELECT v.memory, v.vector FROM models o JOIN vectors v ON v.vault = vault() AND v.model = o.key
 WHERE o.vault = vault() AND o.identity = %s AND v.passage = 0 ORDER BY v.memory"""
EMBEDDED = """
SELECT v.memory, v.passage, t.packed FROM models o
  JOIN vectors v ON v.vault = vault() AND v.model = o.key
  LEFT JOIN token_vectors t ON t.vault = vault() AND t.model = o.key AND t.memory = v.memory
        AND t.passage = v.passage
 WHERE o.vault = vault() AND o.identity = %(model)s AND v.memory IN (
       SELECT DISTINCT w.memory FROM models p
         JOIN vectors w ON w.vault = vault() AND w.model = p.key
        WHERE p.vault = vault() AND p.identity = %(model)s AND w.memory > %(after)s
        ORDER BY w.memory LIMIT %(limit)s)"""
VAULT_MODEL = """
SELECT i.value, d.value::integer FROM meta i
  JOIN meta d ON d.vault = vault() AND d.key = 'embedding_dim'
 WHERE i.vault = vault() AND i.key = 'embedding_identity'"""
ADOPT = """
INSERT INTO meta SELECT vault(), 'embedding_dim', dimensions::text FROM models
 WHERE vault = vault() AND identity = %s
 UNION ALL SELECT vault(), 'embedding_identity', identity FROM models
 WHERE vault = vault() AND identity = %s
    ON CONFLICT (vault, key) DO UPDATE SET value = excluded.value"""
OTHER_DIMENSIONS = "vault = vault() AND identity = %s AND dimensions <> %s"
NEW_MODEL = """
WITH made AS (INSERT INTO models (vault, identity, dimensions) VALUES (vault(), %s, %s)
              RETURNING key), waits AS (
INSERT INTO waiting (vault, model, memory) SELECT vault(), made.key, m.key FROM made, memories m
 WHERE m.vault = vault() AND m.forgotten_at IS NULL) SELECT key FROM made"""
REPLACED = "DELETE FROM vectors WHERE vault = vault() AND model = %s AND memory = ANY(%s)"
INSERT = "INSERT INTO vectors VALUES (vault(), %s, %s, %s, %s, %s, %b)"
PUT_TOKENS = "INSERT INTO token_vectors VALUES (vault(), %s, %s, %s, %b)"
ARRIVED = "DELETE FROM waiting WHERE vault = vault() AND model = %s AND memory = ANY(%s)"
GONE = "DELETE FROM vectors WHERE vault = vault() AND memory = ANY(%s)"
NO_LONGER = "DELETE FROM waiting WHERE vault = vault() AND memory = ANY(%s)"
# A process that saves a few memories embeds them at once, so it owns them for a while.
NEW = f"""
INSERT INTO waiting SELECT vault(), o.key, m, %(own)s::uuid,
       CASE WHEN cardinality(%(new)s) <= {OWN} THEN now() + interval '30 seconds' END
  FROM models o, unnest(%(new)s::bigint[]) AS m WHERE o.vault = vault() ON CONFLICT DO NOTHING"""


class IndexChange(NamedTuple):
    """A memory before and after a write, for the indexes; None if it is not live."""

    key: int
    before: Memory | None
    after: Memory | None


class PostgresVectors(WaitingMemories):
    """The vectors of a vault; a long-lived process caches them in memory."""

    def __init__(
        self, database: PostgresDatabase, *, lifetime: Lifetime = Lifetime.LIBRARY
    ) -> None:
        super().__init__(database)
        self._once = lifetime is Lifetime.ONCE
        self._cached: dict[tuple[int, int], CachedVectors] = {}

    def nearest(
        self, identity: str, vector: Vector, limit: int, filter: Filter, dimensions: int = 0
    ) -> list[VectorMatch]:
        cached = None if self._once else self._cached_vectors
        return nearest.nearest(self._database, cached, identity, vector, limit, filter, dimensions)

    def _cached_vectors(self, model: int, width: int) -> CachedVectors:
        vectors = self._cached.get((model, width))
        if vectors is None:
            if len(self._cached) >= MOST_CACHED:
                self._cached = {}
            vectors = CachedVectors(self._database, model, width)
            vectors = self._cached.setdefault((model, width), vectors)
        return vectors

    def settle(self) -> None:
        """Wait for the threads that read vectors into memory."""
        for one in self._cached.values():
            one.settle()

    def close(self) -> None:
        for one in self._cached.values():
            one.close()

    def similarities(
        self, identity: str, vector: Vector, ids: Sequence[str], dimensions: int = 0
    ) -> dict[str, float]:
        row_ids, _, _, vectors, _ = _columns(self._read_rows(identity, ids))
        return best_cosines(row_ids, vectors, vector, dimensions)

    def nearest_passages(
        self, identity: str, vector: Vector, ids: Sequence[str]
    ) -> dict[str, NearPassage]:
        rows = [row for row in self._read_rows(identity, ids) if row[4]]
        row_ids, starts, stops, vectors, packed = _columns(rows)
        return {
            id: NearPassage(Span(starts[row], stops[row]), packed[row])
            for id, row in nearest_rows(row_ids, vectors, vector).items()
        }

    def list_embedded(self, identity: str, after: int, limit: int) -> list[EmbeddedText]:
        asked = {"model": identity, "after": after, "limit": limit}
        with self._database.reading() as connection:
            rows = connection.execute(EMBEDDED, asked, binary=True).fetchall()
            missing = without_tokens(rows)
            texts = texts_of(connection, list(dict.fromkeys(key for key, *_ in rows)))
        return [EmbeddedText(key, texts[key], key not in missing) for key in sorted(texts)]

    def between(self, identity: str, ids: Sequence[str]) -> dict[tuple[str, str], float]:
        return between(self.read_vectors(identity, ids))

    def read_vectors(self, identity: str, ids: Sequence[str]) -> dict[str, list[StoredVector]]:
        by_id: dict[str, list[StoredVector]] = {id: [] for id in ids}
        rows = self._read_rows(identity, ids)
        vectors = as_rows([row[3] for row in rows])
        for (id, start, stop, _, packed), vector in zip(rows, vectors, strict=True):
            by_id[id].append(StoredVector(Span(start, stop), vector, packed or b""))
        return {id: vectors for id, vectors in by_id.items() if vectors}

    def whole(self, identity: str) -> tuple[list[int], Vector]:
        with self._database.reading() as connection:
            rows = connection.execute(WHOLE, (identity,), binary=True).fetchall()
        return [key for key, _ in rows], as_rows([vector for _, vector in rows]).astype(np.float16)

    def _read_rows(self, identity: str, ids: Sequence[str]) -> list[tuple[Any, ...]]:
        with self._database.reading() as connection:
            return connection.execute(STORED, (identity, [*ids]), binary=True).fetchall()

    def put(
        self,
        identity: str,
        dimensions: int,
        vectors: Iterable[tuple[int, Vector]],
        texts: Mapping[int, str] | None = None,
        spans: Sequence[Span] | None = None,
        *,
        tokens: Sequence[bytes] = (),
    ) -> None:
        with self._database.writing() as connection:
            model = _model(connection, identity, dimensions)
            passages = by_memory(vectors, spans, tokens)
            # The memory may have been forgotten, purged or edited while it was being embedded.
            current = texts_of(connection, [*passages])
            if texts is not None:
                current = {key: text for key, text in current.items() if texts[key] == text}
            keys = sorted(current)
            connection.execute(REPLACED, (model, keys))
            rows = [(key, passage) for key in keys for passage in passages[key]]
            connection.cursor().executemany(
                INSERT,
                [(model, key, *one[:3], as_value(np.frombuffer(one.vector, "<f4")))
                 for key, one in rows],
            )  # fmt: skip
            with_tokens = [(model, key, one.number, one.tokens) for key, one in rows if one.tokens]
            connection.cursor().executemany(PUT_TOKENS, with_tokens)
            connection.execute(ARRIVED, (model, keys))
        self._database.merging.note_write()

    def coverage(self, identity: str) -> Coverage:
        sql = """SELECT a.documents, o.key, (SELECT count(*) FROM waiting w
                   WHERE w.vault = vault() AND w.model = o.key)
              FROM vaults a LEFT JOIN models o ON o.vault = vault() AND o.identity = %s
             WHERE a.key = vault()"""
        [(memories, model, waiting)] = self._database.rows(sql, identity)
        return Coverage(0 if model is None else memories - waiting, memories)

    def model(self) -> str | None:
        with self._database.reading() as connection:
            return _vault_model(connection)[0]

    def begin(self, identity: str, dimensions: int) -> None:
        with self._database.writing() as connection:
            # Vectors of another dimension cannot be compared with its new ones.
            _remove_models(connection, OTHER_DIMENSIONS, identity, dimensions)
            if not connection.execute(MODEL, (identity,)).fetchall():
                connection.execute(NEW_MODEL, (identity, dimensions))
            if _vault_model(connection)[0] in (None, identity):
                connection.execute(ADOPT, (identity, identity))

    def adopt(self, identity: str) -> int:
        with self._database.writing() as connection:
            connection.execute(ADOPT, (identity, identity))
            return _remove_models(connection, "vault = vault() AND identity <> %s", identity)


def _columns(rows: Sequence[tuple[Any, ...]]) -> tuple[Sequence[Any], ...]:
    ids, starts, stops, sent, packed = zip(*rows, strict=True) if rows else ((),) * 5
    return ids, starts, stops, [row.tobytes() for row in as_rows(sent)], packed


def follow(connection: Connection, changes: Sequence[IndexChange]) -> None:
    """Remove the vectors of removed and changed texts, and queue memories for new ones."""
    gone = [change.key for change in changes if change.after is None]
    other = [change.key for change in changes if change.before and _other_text(change)]
    new = [change.key for change in changes if change.after and not change.before]
    if gone:
        connection.execute(NO_LONGER, (gone,))
    if gone or other:
        connection.execute(GONE, (gone + other,))
    if new or other:
        connection.execute(NEW, {"new": new + other, "own": own_mark()})


def _other_text(change: IndexChange) -> bool:
    before, after = (
        memory and (memory.title, memory.text, memory.context) for memory in change[1:]
    )
    return after is not None and before != after


def _vault_model(connection: Connection) -> tuple[str | None, int | None]:
    """Return the identity and the dimension of the vault's model; None without one."""
    rows = connection.execute(VAULT_MODEL).fetchall()
    return rows[0] if rows else (None, None)


def _model(connection: Connection, identity: str, dimensions: int) -> int:
    """Return the key of this model. A new one must have the dimension of the vault's model, unless
    `begin` was called for it."""
    vault_model, stored = _vault_model(connection)
    rows = connection.execute(MODEL, (identity,)).fetchall()
    if rows:
        stored = rows[0][1]
    if stored not in (None, dimensions):
        raise DimensionMismatch(stored, dimensions)
    if not rows:
        rows = connection.execute(NEW_MODEL, (identity, dimensions)).fetchall()
    if vault_model is None:
        connection.execute(ADOPT, (identity, identity))
    return int(rows[0][0])


def _remove_models(connection: Connection, condition: str, *values: object) -> int:
    """Remove these models with all their data; return the number of their vectors."""
    rows = connection.execute(f"DELETE FROM models WHERE {condition} RETURNING key", values)
    models = [key for (key,) in rows]
    if not models:
        return 0
    those = "vault = vault() AND model = ANY(%s)"
    connection.execute(f"DELETE FROM waiting WHERE {those}", (models,))
    return connection.execute(f"DELETE FROM vectors WHERE {those}", (models,)).rowcount
