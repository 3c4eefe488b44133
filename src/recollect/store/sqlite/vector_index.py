"""Rows of vectors, their models and their codes, in the vault and in memory.

Codes are written and removed with their vector, in the same transaction. A code names its vector
and its memory, so that a search reads one table of codes alone until it knows which vectors are
near: `vector_codes`, or of very many vectors `vector_signs`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import apsw
import numpy as np

from recollect.errors import DimensionMismatch
from recollect.hashing import is_intact
from recollect.store import vector_codes
from recollect.store.base import MOST_TOKENWISE
from recollect.store.vector_codes import CodedVectors, pack, record, unpack
from recollect.types import Span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from recollect.store.base import Vector
    from recollect.store.vector_codes import Keys

BATCH = 8192  # rows; 3 MB of codes of 384 dimensions
SAMPLED = 4096  # codes that the doctor makes again

MODEL = "SELECT key, dimensions FROM models WHERE identity = ?"
TABLES = {False: "vector_codes", True: "vector_signs"}  # keys: sign bits or not
PUT = "INSERT INTO {table} (vector, model, code) VALUES (?, ?, ?)"
# SQLite joins the codes to one blob: reading each as a row takes four times as long.
CODES = """
SELECT CAST(group_concat(code, '') AS BLOB) FROM (
    SELECT code FROM {table}
     WHERE vector > ? AND model = ? AND length(code) = ? ORDER BY vector LIMIT ?)"""
CODES_AMONG = """
SELECT CAST(group_concat(code, '') AS BLOB) FROM (
    SELECT c.code FROM json_each(?) j CROSS JOIN vectors v ON v.memory = j.value AND v.model = ?
     CROSS JOIN vector_codes c ON c.vector = v.seq WHERE length(c.code) = ? ORDER BY v.seq)"""
UNCODED = """
SELECT count(*) FROM vectors v
  LEFT JOIN {table} c ON c.vector = v.seq AND c.model = v.model WHERE c.vector IS NULL"""
WITH_CODES = """
SELECT v.seq, v.memory, v.vector, c.code FROM vectors v CROSS JOIN {table} c ON c.vector = v.seq
 WHERE v.seq = ? AND length(v.vector) = ?"""
VECTORS = """
SELECT seq, memory, vector FROM vectors
 WHERE model = ? AND seq > ? AND length(vector) = ? ORDER BY seq LIMIT ?"""
NEW_MODEL = "INSERT INTO models (identity, dimensions) VALUES (?, ?) ON CONFLICT DO NOTHING"
VAULT_MODEL = """
SELECT i.value, CAST(d.value AS INTEGER) FROM meta i JOIN meta d ON d.key = 'embedding_dim'
 WHERE i.key = 'embedding_identity'"""
# Nothing without a row of the model, so that a vault's model always has its row.
ADOPT = """
INSERT INTO meta SELECT 'embedding_dim', dimensions FROM models WHERE identity = ?1
 UNION ALL SELECT 'embedding_identity', identity FROM models WHERE identity = ?1
    ON CONFLICT DO UPDATE SET value = excluded.value"""


class PutPassage(NamedTuple):
    """A row to store: the passage's number, its characters, its vector, and its packed tokens."""

    number: int
    start: int
    stop: int
    vector: bytes
    tokens: bytes


class StoredModel(NamedTuple):
    """A row of `models`."""

    key: int
    width: int


class CodeIndex:
    """The codes of one model in memory, kept in step with the file.

    What is new has a larger `seq`. What was removed stays until many of the vectors that a search
    wants to read are missing; then the codes are read again. With `dimensions`, vectors are cut to
    that many and normalised again.
    """

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        self._guard = threading.Lock()
        self._states: dict[int, tuple[StoredModel, tuple[object, int]]] = {}
        self._model: StoredModel | None = None
        self._coded: CodedVectors | None = None

    def follow(self, connection: apsw.Connection, model: StoredModel) -> CodedVectors:
        """Return the codes of this model, with what was added since the last call."""
        state = (connection.pragma("data_version"), connection.total_changes())
        with self._guard:
            coded = self._coded
            if coded is not None and self._states.get(id(connection)) == (model, state):
                return coded
            if coded is not None and model == self._model:
                coded = self._extend(connection, model, coded)
            if coded is None or model != self._model:
                # Another thread may have read further: each must check for new rows again.
                coded, self._states = self._load(connection, model), {}
            self._model, self._coded = model, coded
            self._states[id(connection)] = model, state
            return coded

    def drop(self, coded: CodedVectors) -> None:
        """Read the codes again at the next search, unless that was done since `coded` was."""
        with self._guard:
            if self._coded is not None and self._coded.seqs is coded.seqs:
                self._coded = None

    def _load(self, connection: apsw.Connection, model: StoredModel) -> CodedVectors:
        width = min(self._dimensions or model.width, model.width)
        coded = vector_codes.make_room(count_vectors(connection, model), width)
        return self._extend(connection, model, coded) or coded

    def _extend(
        self, connection: apsw.Connection, model: StoredModel, coded: CodedVectors
    ) -> CodedVectors | None:
        """Return the codes and those added since; None if there is no room for them."""
        after = int(coded.seqs[coded.size - 1]) if coded.size else 0
        for rows in read_codes(connection, model, after, signs=coded.signs):
            more = vector_codes.append(coded, unpack(rows, self._dimensions))
            if more is None:
                return None
            coded = more
        return coded


def model_of(connection: apsw.Connection, identity: str) -> StoredModel | None:
    """Return the model with this identity; None if it has not embedded anything yet."""
    row = connection.execute(MODEL, (identity,)).fetchone()
    return None if row is None else StoredModel(*row)


def count_vectors(connection: apsw.Connection, model: StoredModel) -> int:
    sql = "SELECT count(*) FROM vectors WHERE model = ?"
    return int(str(connection.execute(sql, (model.key,)).get))


def read_codes(
    connection: apsw.Connection, model: StoredModel, after: int = 0, *, signs: bool = False
) -> Iterator[NDArray[np.void]]:
    """Yield batches of codes, or sign bits, of the vectors after this `seq`."""
    form, sql = record(model.width, signs=signs), CODES.format(table=TABLES[signs])
    while True:
        values = (after, model.key, form.itemsize, BATCH)
        rows = np.frombuffer(connection.execute(sql, values).get or b"", form)
        if len(rows):
            yield rows
            after = int(rows["seq"][-1])
        if len(rows) < BATCH:
            return


def read_codes_among(
    connection: apsw.Connection, model: StoredModel, memories: str
) -> NDArray[np.void]:
    """Return the codes of the vectors of these memories, a JSON list of keys."""
    form = record(model.width)
    values = (memories, model.key, form.itemsize)
    return np.frombuffer(connection.execute(CODES_AMONG, values).get or b"", form)


def write_codes(
    connection: apsw.Connection, model: int, seqs: Keys, memories: Keys, vectors: Vector
) -> None:
    """Within a transaction, write the codes of these vectors, which are all of one model."""
    for signs, table in TABLES.items():
        codes = zip(seqs.tolist(), pack(seqs, memories, vectors, signs=signs), strict=True)
        sql = PUT.format(table=table)
        connection.executemany(sql, ((seq, model, code.tobytes()) for seq, code in codes))


def fill(connection: apsw.Connection) -> None:
    """Within a transaction, make all codes again."""
    for table in TABLES.values():
        connection.execute(f"DELETE FROM {table}")
    for key, width in _models(connection):
        after: apsw.SQLiteValue = 0
        while rows := connection.execute(VECTORS, (key, after, 4 * width, BATCH)).fetchall():
            write_codes(connection, key, *_columns(rows, width))
            after = rows[-1][0]


def problem(connection: apsw.Connection) -> str | None:
    """Return what differs between the codes and the vectors. All are counted, some compared."""
    wrong = 0
    for signs, table in TABLES.items():
        wrong += int(str(connection.execute(UNCODED.format(table=table)).get))
        for key, width in _models(connection):
            sql = "SELECT seq FROM vectors WHERE model = ? ORDER BY seq"
            seqs = [seq for (seq,) in connection.execute(sql, (key,))]
            sampled = [(seq, 4 * width) for seq in seqs[:: max(1, len(seqs) // SAMPLED)]]
            rows = connection.executemany(WITH_CODES.format(table=table), sampled).fetchall()
            codes = pack(*_columns(rows, width), signs=signs)
            wrong += sum(code.tobytes() != row[3] for code, row in zip(codes, rows, strict=True))
    return f"{wrong} codes of vectors differ from the vectors" if wrong else None


def _models(connection: apsw.Connection) -> list[StoredModel]:
    return [StoredModel(*row) for row in connection.execute("SELECT key, dimensions FROM models")]


def _columns(rows: list[tuple[apsw.SQLiteValue, ...]], width: int) -> tuple[Keys, Keys, Vector]:
    seqs, memories = (np.array([row[column] for row in rows], np.int64) for column in (0, 1))
    blobs = b"".join(row[2] for row in rows)  # type: ignore[misc]
    return seqs, memories, np.frombuffer(blobs, "<f4").reshape(len(rows), width)


def vault_model(connection: apsw.Connection) -> tuple[str | None, int | None]:
    """Return the identity and the dimension of the vault's model; None without one."""
    row = connection.execute(VAULT_MODEL).fetchone()
    return row or (None, None)


def model_key(connection: apsw.Connection, identity: str, dimensions: int) -> int:
    """Return the model's key. A new model needs the vault's dimension, unless `begin` was
    called."""
    current, stored = vault_model(connection)
    sql = "SELECT key, dimensions FROM models WHERE identity = ?"
    row = connection.execute(sql, (identity,)).fetchone()
    if row is not None:
        stored = int(str(row[1]))
    if stored not in (None, dimensions):
        raise DimensionMismatch(stored, dimensions)
    connection.execute(NEW_MODEL, (identity, dimensions))
    if current is None:
        connection.execute(ADOPT, (identity,))
    [(key, _)] = connection.execute(sql, (identity,)).fetchall()
    assert isinstance(key, int)
    return key


def without_tokens(rows: Iterable[tuple[int, int, bytes | None]]) -> set[int]:
    """Return the memories of these (memory, passage, tokens) that have too few intact tokens."""
    return {
        memory
        for memory, passage, packed in rows
        if passage <= MOST_TOKENWISE and not (packed and is_intact(bytes(packed)))
    }


def by_memory(
    vectors: Iterable[tuple[int, Vector]], spans: Sequence[Span] | None, tokens: Sequence[bytes]
) -> dict[int, list[PutPassage]]:
    """Return each memory's rows. The passages of a memory that has several count from 1; the one
    vector of a whole memory is passage 0."""
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
