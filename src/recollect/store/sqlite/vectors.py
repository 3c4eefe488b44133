"""Vectors: float32 blobs in SQLite, and the search for the nearest of them.

What a search scans of the active model is in memory once per process and follows the file by
reading what is new: vectors carry a growing `seq`, removals are logged.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import accumulate, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import apsw
import msgspec
import numpy as np

from recollect.errors import DimensionMismatch
from recollect.files import exclusive
from recollect.hashing import intact
from recollect.lifetime import Lifetime
from recollect.retry import without_waiting
from recollect.store.base import (
    MOST_TOKENWISE,
    Coverage,
    EmbeddedText,
    NearPassage,
    StoredVector,
    VectorMatch,
    Waiting,
)
from recollect.store.sqlite.connection import Database, as_json_list
from recollect.store.sqlite.filters import SqliteTopics, where
from recollect.store.sqlite.matrix import Matrix
from recollect.store.sqlite.memories import BROWSE_TIER
from recollect.store.sqlite.vault_files import LEASE
from recollect.store.sqlite.vector_codes import extend
from recollect.store.sqlite.vector_rows import (
    PassingRows,
    asked_again,
    best_cosines,
    between,
    nearest_rows,
)
from recollect.types import Filter, Span, best_first

if TYPE_CHECKING:
    from recollect.store.base import Vector
    from recollect.store.sqlite.vector_rows import Keys


TEXT = "m.title || char(10) || m.text || char(10) || m.context"
# What waits is embedded by windows of so many memories, the newest window first, so that an import
# is of use before it is all embedded. Inside one, by size: texts of one size end together.
WINDOW = 4_096
# In bytes, which SQLite knows without reading the text.
SIZE = "octet_length(m.title) + octet_length(m.text) + octet_length(m.context)"
STORED = """
SELECT m.id, {columns} FROM json_each(?) j
  CROSS JOIN memories m ON m.id = j.value CROSS JOIN models o ON o.identity = ?
  CROSS JOIN vectors v ON v.memory = m.key AND v.model = o.key {joined}
 WHERE length(v.vector) = 4 * o.dimensions ORDER BY v.passage"""
WITH_TOKENS = STORED.format(
    columns="v.start, v.stop, v.vector, coalesce(t.packed, x'')",
    joined="LEFT JOIN token_vectors t ON t.vector = v.seq",
)
PUT_TOKENS = """
INSERT INTO token_vectors SELECT seq, ? FROM vectors
 WHERE model = ? AND memory = ? AND passage = ?"""
EMBEDDED = """
SELECT v.memory, v.passage, t.packed FROM models o CROSS JOIN vectors v ON v.model = o.key
  LEFT JOIN token_vectors t ON t.vector = v.seq
 WHERE o.identity = ?1 AND v.memory IN (
       SELECT DISTINCT w.memory FROM models p CROSS JOIN vectors w ON w.model = p.key
        WHERE p.identity = ?1 AND w.memory > ?2 ORDER BY w.memory LIMIT ?3)
 ORDER BY v.memory"""
TOKENS = """
SELECT t.vector, t.packed FROM json_each(?) j CROSS JOIN token_vectors t ON t.vector = j.value"""
WHOLE = """
SELECT v.memory, v.vector FROM models o CROSS JOIN vectors v ON v.model = o.key AND v.passage = 0
 WHERE o.identity = ? AND length(v.vector) = 4 * o.dimensions ORDER BY v.seq"""
NEW_MODEL = "INSERT INTO models (identity, dimensions) VALUES (?, ?) ON CONFLICT DO NOTHING"
VAULT_MODEL = """
SELECT i.value, CAST(d.value AS INTEGER) FROM meta i JOIN meta d ON d.key = 'embedding_dim'
 WHERE i.key = 'embedding_identity'"""
# Not where nothing of the model was begun, so that a vault's model always has its row.
ADOPT = """
INSERT INTO meta SELECT 'embedding_dim', dimensions FROM models WHERE identity = ?1
 UNION ALL SELECT 'embedding_identity', identity FROM models WHERE identity = ?1
    ON CONFLICT DO UPDATE SET value = excluded.value"""
ARCHIVED = "m.archived_at IS NOT NULL AND m.forgotten_at IS NULL"
# Filters whose memories are known until the vault changes: an agent asks with the same few.
MOST_FILTERS = 4


class SqliteVectors:
    """The vectors of a vault."""

    def __init__(
        self, database: Database, topics: SqliteTopics, *, lifetime: Lifetime = Lifetime.LIBRARY
    ) -> None:
        self._database = database
        self._once = lifetime is Lifetime.ONCE
        self._topics = topics
        self._matrices: dict[tuple[str, int], Matrix] = {}
        self._filtered: dict[tuple[object, ...], PassingRows] = {}
        self._guard = threading.Lock()
        self._caught_up = self._once

    def catch_up(self, identity: str | None = None) -> None:
        """Write codes into a vault from before there were any, before a search, which only reads:
        those of this model, or of the vault's."""
        if self._caught_up:
            return
        with self._database.translated():
            if self._database.connection().in_transaction:
                return
            self._caught_up = True
            if (model := identity or self.model()) is not None:
                with without_waiting():
                    extend(self._database, model)

    def nearest(
        self, identity: str, vector: Vector, limit: int, filter: Filter, dimensions: int = 0
    ) -> list[VectorMatch]:
        self.catch_up(identity)
        with self._database.reading() as connection:  # looked for and read at one moment
            matrix = self._following(connection, identity, dimensions)
            passing = self._passing(connection, matrix, filter)
            # More than asked for where equal cosines straddle the cut: there ids decide.
            best = matrix.nearest(connection, vector, limit, passing)
        return best_first(best)[:limit]

    def similarities(
        self, identity: str, vector: Vector, ids: Sequence[str], dimensions: int = 0
    ) -> dict[str, float]:
        rows = self._database.rows(
            STORED.format(columns="v.vector", joined=""), as_json_list(dict.fromkeys(ids)), identity
        )
        found, vectors = zip(*rows, strict=True) if rows else ((), ())
        return best_cosines(found, vectors, vector, dimensions)

    def nearest_passages(
        self, identity: str, vector: Vector, ids: Sequence[str]
    ) -> dict[str, NearPassage]:
        with self._database.reading():  # both at one moment
            rows = self._database.rows(
                STORED.format(
                    columns="v.seq, v.start, v.stop, v.vector",
                    joined="CROSS JOIN token_vectors t ON t.vector = v.seq",
                ),
                as_json_list(ids),
                identity,
            )
            found, seqs, starts, stops, vectors = zip(*rows, strict=True) if rows else ((),) * 5
            best = nearest_rows(found, vectors, vector)
            wanted = as_json_list(seqs[row] for row in best.values())
            packed: dict[Any, Any] = dict(self._database.rows(TOKENS, wanted))  # type: ignore[arg-type]
        return {
            id: NearPassage(Span(starts[row], stops[row]), packed[seqs[row]])
            for id, row in best.items()
        }

    def between(self, identity: str, ids: Sequence[str]) -> dict[tuple[str, str], float]:
        return between(self.stored(identity, ids))

    def stored(self, identity: str, ids: Sequence[str]) -> dict[str, list[StoredVector]]:
        found: dict[str, list[StoredVector]] = {id: [] for id in ids}
        rows = self._database.rows(WITH_TOKENS, as_json_list(found), identity)
        for id, start, stop, vector, tokens in rows:
            span, floats = Span(start, stop), np.frombuffer(vector, "<f4")  # type: ignore[arg-type]
            floats = floats.astype(np.float32, copy=False)
            found[str(id)].append(StoredVector(span, floats, tokens))  # type: ignore[arg-type]
        return {id: vectors for id, vectors in found.items() if vectors}

    def whole(self, identity: str) -> tuple[list[int], Vector]:
        keys: list[int] = []
        parts = [np.empty((0, 0), np.float16)]
        with self._database.translated():
            rows = self._database.connection().execute(WHOLE, (identity,))
            while batch := list(islice(rows, WINDOW)):
                keys += (int(str(key)) for key, _ in batch)
                floats = np.frombuffer(b"".join(vector for _, vector in batch), "<f4")
                parts.append(floats.reshape(len(batch), -1).astype(np.float16))
        return keys, np.concatenate(parts[1:] or parts)

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
            current = _texts(connection, passages)
            if texts is not None:
                current = {key: text for key, text in current.items() if texts[key] == text}
            connection.executemany(
                "DELETE FROM vectors WHERE model = ? AND memory = ?",
                [(model, key) for key in current],
            )
            connection.executemany(
                "INSERT INTO vectors (model, memory, passage, start, stop, vector) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                [(model, key, *passage[:4]) for key in current for passage in passages[key]],
            )
            connection.executemany(
                PUT_TOKENS,
                [
                    (passage.tokens, model, key, passage.number)
                    for key in current
                    for passage in passages[key]
                    if passage.tokens
                ],
            )
        extend(self._database, identity)

    def waiting(
        self,
        identity: str,
        limit: int,
        *,
        size: int | None = None,
        among: Sequence[str] | None = None,
        without: Collection[int] = (),
    ) -> list[Waiting]:
        with self._database.translated():
            connection = self._database.connection()
            rows = _smallest(connection, identity, limit, among, as_json_list(without))
            keys = [key for key, _ in rows]
            if size is not None:
                totals = accumulate(length for _, length in rows)
                fitting = sum(total <= size for total in totals)
                keys = keys[: max(fitting, 1)]
            texts = _texts(connection, keys)
        return [Waiting(key, texts[key]) for key in keys if key in texts]

    def lease(self) -> AbstractContextManager[bool]:
        return exclusive(Path(f"{self._database.path}{LEASE}"))

    def coverage(self, identity: str) -> Coverage:
        [(memories, model, waiting)] = self._database.rows(
            "SELECT c.documents, o.key, (SELECT count(*) FROM waiting w WHERE w.model = o.key) "
            "FROM corpus c LEFT JOIN models o ON o.identity = ?",
            identity,
        )
        assert isinstance(memories, int)
        assert isinstance(waiting, int)
        return Coverage(0 if model is None else memories - waiting, memories)

    def model(self) -> str | None:
        found = self._database.rows("SELECT value FROM meta WHERE key = 'embedding_identity'")
        return str(found[0][0]) if found else None

    def begin(self, identity: str, dimensions: int) -> None:
        with self._database.writing() as connection:
            sql = "DELETE FROM models WHERE identity = ? AND dimensions <> ?"
            connection.execute(sql, (identity, dimensions))  # not to be compared with its new ones
            connection.execute(NEW_MODEL, (identity, dimensions))
            if _vault_model(connection)[0] in (None, identity):
                connection.execute(ADOPT, (identity,))

    def adopt(self, identity: str) -> int:
        with self._database.writing() as connection:
            connection.execute(ADOPT, (identity,))
            sql = "DELETE FROM vectors WHERE model IN (SELECT key FROM models WHERE identity <> ?)"
            connection.execute(sql, (identity,))
            gone = connection.changes()
            connection.execute("DELETE FROM models WHERE identity <> ?", (identity,))
        return gone

    def embedded(self, identity: str, after: int, limit: int) -> list[EmbeddedText]:
        with self._database.reading() as connection:
            rows: Any = self._database.rows(EMBEDDED, identity, after, limit)
            missing = without_tokens(rows)
            texts = _texts(connection, dict.fromkeys(key for key, *_ in rows))
        return [EmbeddedText(key, text, key not in missing) for key, text in texts.items()]

    def forget(self) -> None:
        """Drop the vectors in memory; the next search reads them again."""
        with self._guard:
            self._matrices.clear()
            self._filtered.clear()

    def _following(self, connection: apsw.Connection, identity: str, dimensions: int) -> Matrix:
        """The matrix of this model, brought up to date with the file."""
        with self._guard:
            matrix = self._matrices.get((identity, dimensions))
            if matrix is None:
                matrix = Matrix(identity, dimensions, once=self._once)
                # What was kept of another model is of no use after a switch.
                self._matrices = {k: m for k, m in self._matrices.items() if k[0] == identity}
                self._matrices[identity, dimensions] = matrix
            matrix.follow(connection)
            return matrix

    def _passing(
        self, connection: apsw.Connection, matrix: Matrix, filter: Filter
    ) -> PassingRows | None:
        """The rows that pass the filter, as long as nothing is written looked for once."""
        filter = self._topics.settled(filter)
        if not filter.narrows():
            return matrix.passing(None, ())
        state = (connection.pragma("data_version"), connection.total_changes())
        asked = (matrix, connection, state, filter)
        with self._guard:
            found = self._filtered.pop(asked, None)
        if found is None or not matrix.still_has(found):
            found = matrix.passing(*self._narrowed(filter))
        if found is not None:
            found = asked_again(found)
        if found is not None and not self._once:
            with self._guard:
                self._filtered[asked] = found
                for oldest in list(self._filtered)[:-MOST_FILTERS]:
                    del self._filtered[oldest]
        return found

    def _narrowed(self, filter: Filter) -> tuple[Keys | None, Keys | tuple[()]]:
        """The memories to search (None: all) and those to leave out. Left-out kinds, archived
        memories and what has changed lately are few: where the filter asks for nothing else, they
        are listed rather than all the others."""
        rest = msgspec.structs.replace(
            filter, without_kinds=(), archived=None, unchanged_since=None
        )
        if rest.narrows():
            return self._keys(*where(filter, self._topics)), ()
        left_out = [ARCHIVED] if filter.archived is False else []
        values: list[apsw.SQLiteValue] = [*filter.without_kinds]
        if filter.without_kinds:
            places = ", ".join("?" for _ in filter.without_kinds)
            left_out.append(f"m.forgotten_at IS NULL AND m.kind IN ({places})")
        if filter.unchanged_since is not None:
            left_out.append("m.key IN (SELECT memory FROM versions WHERE write > ?)")
            values.append(filter.unchanged_since)
        return None, self._keys(" OR ".join(left_out), values)

    def _keys(self, condition: str, values: Sequence[apsw.SQLiteValue]) -> Keys:
        """The keys of these memories, as one text: that is read three times as quickly as rows."""
        sql = f"SELECT group_concat(m.key) FROM memories m WHERE {condition}"
        [(keys,)] = self._database.rows(sql, *values)
        return np.fromstring(str(keys), np.int64, sep=",") if keys else np.empty(0, np.int64)


class PutPassage(NamedTuple):
    """A row to store: the passage's number, its characters, its vector, and its packed tokens."""

    number: int
    start: int
    stop: int
    vector: bytes
    tokens: bytes


def without_tokens(rows: Iterable[tuple[int, int, bytes | None]]) -> set[int]:
    """Return the memories of these (memory, passage, tokens) that have too few intact tokens."""
    return {
        memory
        for memory, passage, packed in rows
        if passage <= MOST_TOKENWISE and not (packed and intact(bytes(packed)))
    }


def by_memory(
    vectors: Iterable[tuple[int, Vector]], spans: Sequence[Span] | None, tokens: Sequence[bytes]
) -> dict[int, list[PutPassage]]:
    """Each memory's rows. The passages of a memory that has several count from 1; the one vector of
    a whole memory is passage 0."""
    pieces: dict[int, list[PutPassage]] = {}
    for place, (key, vector) in enumerate(vectors):
        span = Span(0, 0) if spans is None else spans[place]
        earlier = pieces.setdefault(key, [])
        packed = tokens[place] if place < len(tokens) else b""
        blob = vector.astype("<f4").tobytes()
        earlier.append(PutPassage(len(earlier) + 1, *span, blob, packed))
    return {
        key: passages if len(passages) > 1 else [passages[0]._replace(number=0)]
        for key, passages in pieces.items()
    }


def _smallest(
    connection: apsw.Connection,
    identity: str,
    limit: int,
    among: Sequence[str] | None,
    without: str,
) -> list[tuple[int, int]]:
    """The keys and sizes of the smallest that wait: of those `among`, else of the core memories,
    else of the newest window."""
    found = connection.execute("SELECT key FROM models WHERE identity = ?", (identity,)).fetchone()
    # A model that has embedded something before has a table of what waits for it.
    waits = "" if found is None else "CROSS JOIN waiting w ON w.model = ? AND w.memory = m.key "
    model = () if found is None else (found[0],)
    live = "WHERE m.forgotten_at IS NULL AND m.key NOT IN (SELECT value FROM json_each(?)) "

    def rows(
        tables: str, *values: apsw.SQLiteValue, narrow: str = "", ending: str = "size, m.key"
    ) -> list[tuple[int, int]]:
        sql = f"SELECT m.key, {SIZE} AS size FROM {tables} {live}{narrow} ORDER BY {ending} LIMIT ?"
        return connection.execute(sql, values).fetchall()  # type: ignore[return-value]

    if among is not None:
        tables = f"json_each(?) j CROSS JOIN memories m ON m.id = j.value {waits}"
        return rows(tables, as_json_list(among), *model, without, limit)
    core = rows(f"memories m {waits}", *model, without, limit, narrow=f"AND {BROWSE_TIER} = 0")
    if core:
        return core
    key = "m.key" if found is None else "w.memory"
    by_model = "waiting w CROSS JOIN memories m ON w.model = ? AND m.key = w.memory"
    tables = "memories m" if found is None else by_model
    newest = rows(tables, *model, without, 1, ending=f"{key} DESC")
    if not newest:
        return []
    first = newest[0][0] // WINDOW * WINDOW
    return rows(tables, *model, without, first, limit, narrow=f"AND {key} >= ?")


def _texts(connection: apsw.Connection, keys: Iterable[int]) -> dict[int, str]:
    """The text to embed of each of these memories that is live, as `waiting` gives it."""
    rows = connection.execute(
        f"SELECT m.key, {TEXT} FROM json_each(?) j CROSS JOIN memories m ON m.key = j.value "
        "WHERE m.forgotten_at IS NULL",
        (as_json_list(keys),),
    )
    return {key: str(text).strip() for key, text in rows}


def _vault_model(connection: apsw.Connection) -> tuple[str | None, int | None]:
    """The identity and the dimension of the vault's model; None without one."""
    row = connection.execute(VAULT_MODEL).fetchone()
    return row or (None, None)


def _model(connection: apsw.Connection, identity: str, dimensions: int) -> int:
    """The key of this model. One that is new must have the dimension of the vault's model, unless
    it was begun."""
    vault_model, stored = _vault_model(connection)
    sql = "SELECT key, dimensions FROM models WHERE identity = ?"
    row = connection.execute(sql, (identity,)).fetchone()
    if row is not None:
        stored = int(str(row[1]))
    if stored not in (None, dimensions):
        raise DimensionMismatch(stored, dimensions)
    connection.execute(NEW_MODEL, (identity, dimensions))
    if vault_model is None:
        connection.execute(ADOPT, (identity,))
    [(key, _)] = connection.execute(sql, (identity,)).fetchall()
    assert isinstance(key, int)
    return key
