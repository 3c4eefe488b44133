"""Vectors: float32 blobs in SQLite, and the search for the nearest of them.

A search scans the vectors' codes, which a process keeps in memory, and reads the vectors of the
best. A command reads the codes and keeps none.
"""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import accumulate, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw
import msgspec
import numpy as np

from recollect.errors import DimensionMismatch
from recollect.files import exclusive
from recollect.lifetime import Lifetime
from recollect.store import vector_codes
from recollect.store.base import (
    Coverage,
    EmbeddedText,
    NearPassage,
    StoredVector,
    VectorMatch,
    WaitingMemory,
)
from recollect.store.memory_rows import stored_id
from recollect.store.sqlite.connection import Database, as_json_list
from recollect.store.sqlite.filters import SqliteTopics, where
from recollect.store.sqlite.memories import BROWSE_TIER
from recollect.store.sqlite.vault_files import LEASE
from recollect.store.sqlite.vector_index import (
    ADOPT,
    NEW_MODEL,
    CodeIndex,
    by_memory,
    count_vectors,
    model_key,
    model_of,
    read_codes,
    read_codes_among,
    vault_model,
    without_tokens,
    write_codes,
)
from recollect.store.vector_codes import (
    NearVector,
    PassingVectors,
    ScoredRows,
    best_cosines,
    between,
    cut_vectors,
    nearest_rows,
)
from recollect.types import Filter, Span, best_first

if TYPE_CHECKING:
    from recollect.store.base import Vector
    from recollect.store.sqlite.vector_index import StoredModel
    from recollect.store.vector_codes import CodedVectors, Keys


TEXT = "m.title || char(10) || m.text || char(10) || m.context"
# Waiting memories are embedded in windows of this size, the newest window first, so that an import
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
NEXT = "SELECT coalesce(max(seq), 0) + 1 FROM sqlite_sequence WHERE name = 'vectors'"
PUT = """
INSERT INTO vectors (seq, model, memory, passage, start, stop, vector)
VALUES (?, ?, ?, ?, ?, ?, ?)"""
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
ARCHIVED = "m.archived_at IS NOT NULL AND m.forgotten_at IS NULL"
# Filters whose memories are kept until the vault changes: an agent uses the same few.
MOST_FILTERS = 4
# If at most this many memories pass a filter, a command reads only their codes.
FEW = 5_000
# If a larger share of the proposed vectors is gone, the codes in memory are out of date.
MOST_MISSING = 0.25
# Vectors with their memories, by `seq`.
PROPOSED = """
SELECT v.seq, v.vector, m.id, v.passage, v.start, v.stop FROM json_each(?) j
 CROSS JOIN vectors v ON v.seq = j.value CROSS JOIN memories m ON m.key = v.memory
 WHERE length(v.vector) = ?"""


class ProposedVectors:
    """Reads vectors by their numbers, with the fields of their matches."""

    def __init__(self, connection: apsw.Connection, width: int, dimensions: int) -> None:
        self._connection = connection
        self._width = width
        self._dimensions = dimensions
        self._named: dict[int, tuple[Any, ...]] = {}
        self.proposed = self.missing = 0

    def __call__(self, seqs: Keys) -> tuple[Keys, Vector]:
        """Return the numbers of the vectors that are there, in the same order, and the vectors."""
        values = (as_json_list(seqs.tolist()), 4 * self._width)
        rows: Any = self._connection.execute(PROPOSED, values).fetchall()
        self.proposed += len(seqs)
        self.missing += len(seqs) - len(rows)
        self._named.update((seq, named) for seq, _, *named in rows)
        floats = np.frombuffer(b"".join(row[1] for row in rows), "<f4")
        vectors = floats.reshape(len(rows), self._width).astype(np.float32, copy=False)
        found = np.array([row[0] for row in rows], np.int64)
        return found, cut_vectors(vectors, self._dimensions)

    def match(self, near: NearVector) -> VectorMatch:
        id, passage, start, stop = self._named[near.seq]
        return VectorMatch(stored_id(id), near.cosine, passage, Span(start, stop), near.key)


class SqliteVectors:
    def __init__(
        self, database: Database, topics: SqliteTopics, *, lifetime: Lifetime = Lifetime.LIBRARY
    ) -> None:
        self._database = database
        self._once = lifetime is Lifetime.ONCE
        self._topics = topics
        self._indexes: dict[tuple[str, int], CodeIndex] = {}
        self._filtered: dict[tuple[object, ...], tuple[CodedVectors, PassingVectors]] = {}
        self._guard = threading.Lock()

    def nearest(
        self, identity: str, vector: Vector, limit: int, filter: Filter, dimensions: int = 0
    ) -> list[VectorMatch]:
        with self._database.reading() as connection:  # codes and vectors of one snapshot
            filter = self._topics.resolve_archived(filter)
            model = model_of(connection, identity)
            if model is None or limit < 1:
                return []
            if len(vector) != model.width:
                raise DimensionMismatch(model.width, len(vector))
            query = cut_vectors(vector[None, :], dimensions)[0]
            reader = ProposedVectors(connection, model.width, dimensions)
            if self._once and count_vectors(connection, model) <= vector_codes.LARGE:
                scored = self._scored_in_file(connection, model, query, filter, dimensions)
                best = vector_codes.nearest(scored, query, limit, reader)
            else:
                index = self._index(identity, dimensions)
                coded = index.follow(connection, model)
                passing = self._passing(connection, coded, filter)
                best = vector_codes.search(passing, query, limit, reader)
                if reader.missing > MOST_MISSING * reader.proposed:
                    index.drop(coded)
        # More than `limit` where equal cosines straddle the cut: there ids decide.
        return best_first(reader.match(near) for near in best)[:limit]

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
        with self._database.reading():  # one snapshot for both
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
        return between(self.read_vectors(identity, ids))

    def read_vectors(self, identity: str, ids: Sequence[str]) -> dict[str, list[StoredVector]]:
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
        with self._database.translate_errors():
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
            model = model_key(connection, identity, dimensions)
            passages = by_memory(vectors, spans, tokens)
            # The memory may have been forgotten, purged or edited while it was being embedded.
            current = _texts(connection, passages)
            if texts is not None:
                current = {key: text for key, text in current.items() if texts[key] == text}
            connection.executemany(
                "DELETE FROM vectors WHERE model = ? AND memory = ?",
                [(model, key) for key in current],
            )
            first = int(str(connection.execute(NEXT).get))
            rows = [(key, passage) for key in current for passage in passages[key]]
            connection.executemany(
                PUT,
                [(seq, model, key, *passage[:4]) for seq, (key, passage) in enumerate(rows, first)],
            )
            connection.executemany(
                "INSERT INTO token_vectors VALUES (?, ?)",
                [
                    (seq, passage.tokens)
                    for seq, (_, passage) in enumerate(rows, first)
                    if passage.tokens
                ],
            )
            floats = np.frombuffer(b"".join(passage.vector for _, passage in rows), "<f4")
            write_codes(
                connection,
                model,
                np.arange(first, first + len(rows)),
                np.array([key for key, _ in rows], np.int64),
                floats.reshape(len(rows), dimensions),
            )

    def waiting(
        self,
        identity: str,
        limit: int,
        *,
        size: int | None = None,
        among: Sequence[str] | None = None,
        without: Collection[int] = (),
    ) -> list[WaitingMemory]:
        with self._database.translate_errors():
            connection = self._database.connection()
            rows = _smallest(connection, identity, limit, among, as_json_list(without))
            keys = [key for key, _ in rows]
            if size is not None:
                totals = accumulate(length for _, length in rows)
                fitting = sum(total <= size for total in totals)
                keys = keys[: max(fitting, 1)]
            texts = _texts(connection, keys)
        return [WaitingMemory(key, texts[key]) for key in keys if key in texts]

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
            connection.execute(
                sql, (identity, dimensions)
            )  # must not be compared with its new ones
            connection.execute(NEW_MODEL, (identity, dimensions))
            if vault_model(connection)[0] in (None, identity):
                connection.execute(ADOPT, (identity,))

    def adopt(self, identity: str) -> int:
        with self._database.writing() as connection:
            connection.execute(ADOPT, (identity,))
            sql = "DELETE FROM vectors WHERE model IN (SELECT key FROM models WHERE identity <> ?)"
            connection.execute(sql, (identity,))
            gone = connection.changes()
            connection.execute("DELETE FROM models WHERE identity <> ?", (identity,))
        return gone

    def list_embedded(self, identity: str, after: int, limit: int) -> list[EmbeddedText]:
        with self._database.reading() as connection:
            rows: Any = self._database.rows(EMBEDDED, identity, after, limit)
            missing = without_tokens(rows)
            texts = _texts(connection, dict.fromkeys(key for key, *_ in rows))
        return [EmbeddedText(key, text, key not in missing) for key, text in texts.items()]

    def forget(self) -> None:
        with self._guard:
            self._indexes.clear()
            self._filtered.clear()

    def _scored_in_file(
        self,
        connection: apsw.Connection,
        model: StoredModel,
        query: Vector,
        filter: Filter,
        dimensions: int,
    ) -> ScoredRows:
        """Compare the query with the codes in the file, and keep none of them. If few memories pass
        the filter, read only their codes."""
        among, without = self._split_filter(filter)
        batches = read_codes(connection, model)
        if among is not None and len(among) <= FEW:
            keys = as_json_list(among.tolist())
            batches = iter([read_codes_among(connection, model, keys)])
        return vector_codes.join(
            [
                vector_codes.score(vector_codes.select_passing(coded, among, without), query)
                for coded in (vector_codes.unpack(batch, dimensions) for batch in batches)
            ]
        )

    def _index(self, identity: str, dimensions: int) -> CodeIndex:
        with self._guard:
            found = self._indexes.get((identity, dimensions))
            if found is None:
                found = CodeIndex(dimensions)
                # Codes of another model are of no use after a switch.
                self._indexes = {k: one for k, one in self._indexes.items() if k[0] == identity}
                self._indexes[identity, dimensions] = found
            return found

    def _passing(
        self, connection: apsw.Connection, coded: CodedVectors, filter: Filter
    ) -> PassingVectors:
        """Return the vectors that pass the filter, looked up once until something is written."""
        if not filter.narrows():
            return PassingVectors(coded, None)
        key = (connection, connection.pragma("data_version"), connection.total_changes(), filter)
        with self._guard:
            known, found = self._filtered.pop(key, (None, None))
        if found is None or known is not coded:
            found = vector_codes.select_passing(coded, *self._split_filter(filter))
        with self._guard:
            self._filtered[key] = coded, found
            for oldest in list(self._filtered)[:-MOST_FILTERS]:
                del self._filtered[oldest]
        return found

    def _split_filter(self, filter: Filter) -> tuple[Keys | None, Keys | tuple[()]]:
        """Return the memories to search (None: all) and those to leave out. Left-out kinds,
        archived memories and recent changes are few: if the filter needs nothing else, they are
        listed rather than all the others."""
        if not filter.narrows():
            return None, ()
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
        """Return the keys of these memories, read as one text: three times as quick as rows."""
        sql = f"SELECT group_concat(m.key) FROM memories m WHERE {condition}"
        [(keys,)] = self._database.rows(sql, *values)
        return np.fromstring(str(keys), np.int64, sep=",") if keys else np.empty(0, np.int64)


def _smallest(
    connection: apsw.Connection,
    identity: str,
    limit: int,
    among: Sequence[str] | None,
    without: str,
) -> list[tuple[int, int]]:
    """Return the keys and sizes of the smallest waiting memories: of those `among`, else of the
    core memories, else of the newest window."""
    found = connection.execute("SELECT key FROM models WHERE identity = ?", (identity,)).fetchone()
    # The table `waiting` has rows only for models with some vectors.
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
    """Return the text to embed of each of these memories that is live, as in `waiting`."""
    rows = connection.execute(
        f"SELECT m.key, {TEXT} FROM json_each(?) j CROSS JOIN memories m ON m.key = j.value "
        "WHERE m.forgotten_at IS NULL",
        (as_json_list(keys),),
    )
    return {key: str(text).strip() for key, text in rows}
