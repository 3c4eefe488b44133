"""The quantised vectors in the vault: a codebook for each model with many vectors, and chunks.

A chunk holds the codes of all vectors of a stretch of `seq`, up to its `last`. What comes after the
last chunk, an open index encodes itself. The log of removals tells what was removed since a chunk
was made. So the vault answers right after each transaction.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING, NamedTuple

import apsw
import numpy as np

from recollect.errors import StoreError
from recollect.retry import waits, without_waiting
from recollect.store.sqlite import scan, vector_rows
from recollect.store.sqlite.connection import Database, as_json_list
from recollect.store.sqlite.scan import BLOCK, LEARNED_FROM, Codes

if TYPE_CHECKING:
    from recollect.store.sqlite.scan import Floats
    from recollect.store.sqlite.vector_rows import Keys, VectorRows

# An index that opens encodes fewer than these by itself: twenty milliseconds.
CHUNK_ROWS = 2048
# So many may be left to be encoded by whoever opens the index before a chunk waits its turn.
MOST_DUE = 4 * CHUNK_ROWS
# An index that opens reads about so many removals: a chunk that was made before them is made anew.
MOST_REMOVALS = 20_000
SAMPLED = 16  # of each chunk, by the doctor
LAST = (1 << 63) - 1

MODEL = """
SELECT o.key, o.dimensions, b.key, b.points
  FROM models o LEFT JOIN codebooks b ON b.model = o.key WHERE o.identity = ?"""
STRETCH = """
SELECT seq, memory, vector FROM vectors
 WHERE model = ? AND seq > ? AND seq <= ? AND length(vector) = ? ORDER BY seq"""
BEHIND = """
SELECT 1 FROM models o CROSS JOIN vectors v ON v.model = o.key WHERE o.identity = ?
   AND v.seq > coalesce((SELECT max(last) FROM vector_codes WHERE model = o.key), 0)
 LIMIT 1 OFFSET ?"""
CHUNKS = """
SELECT last, removed, seqs, memories, codes FROM vector_codes WHERE model = ? ORDER BY last"""


class CodedModel(NamedTuple):
    """A model, and its codebook where it has one."""

    key: int
    width: int
    codebook: int | None
    points: Floats | None


class CodeChunk(NamedTuple):
    """A chunk to be written in place of `replaced`: the (last, removed) of those after `after`."""

    model: CodedModel
    after: int
    last: int
    removed: int
    replaced: list[tuple[int, int]]
    seqs: Keys
    memories: Keys
    codes: bytes


def model_of(connection: apsw.Connection, identity: str) -> CodedModel | None:
    """The model with this identity; None where it has embedded nothing yet."""
    row = connection.execute(MODEL, (identity,)).fetchone()
    if row is None:
        return None
    key, width, codebook, points = row
    learned = None if points is None else np.frombuffer(points, "<f4").astype(np.float32)
    return CodedModel(key, width, codebook, learned)


def last_removed(connection: apsw.Connection) -> int:
    """How far the log of removals has come."""
    return int(str(connection.execute("SELECT coalesce(max(seq), 0) FROM vectors_removed").get))


def load(
    connection: apsw.Connection, model: CodedModel, codes: Codes
) -> tuple[VectorRows, list[tuple[int, int]]]:
    """The rows of the model's chunks, in order, and the (last, removed) of each chunk. Rows that
    only fill up a block are not alive. What is read goes to its place without a second copy."""
    sql = "SELECT coalesce(sum(length(codes)), 0) FROM vector_codes WHERE model = ?"
    size = int(str(connection.execute(sql, (model.key,)).get))
    slots = size // row_size(model.width)
    stored = vector_rows.with_room(slots, model.width, codes)._replace(size=slots)
    ends: list[tuple[int, int]] = []

    def parts() -> Iterator[bytes]:
        first = 0
        for last, removed, *blobs in connection.execute(CHUNKS, (model.key,)):
            ends.append((last, removed))
            seqs, memories, packed = _checked(blobs, model.width)
            end = first + len(seqs)
            filled = first + len(packed) // row_size(model.width)
            stored.seqs[first:end], stored.seqs[end:filled] = seqs, seqs[-1]
            stored.keys[first:end], stored.keys[end:filled] = memories, 0
            stored.alive[first:end] = True
            first = filled
            yield packed

    cache = connection.pragma("cache_size")
    connection.pragma("cache_size", 100)  # pages; those of the codes are not read again
    try:
        codes.take(parts(), size)
    finally:
        connection.pragma("cache_size", cache)
    return stored, ends


def sample(connection: apsw.Connection, model: CodedModel) -> Floats:
    """Vectors spread over all of the model, to learn a codebook from."""
    sql = "SELECT seq FROM vectors WHERE model = ? ORDER BY seq"
    seqs = [seq for (seq,) in connection.execute(sql, (model.key,))]
    _, vectors = vectors_of(connection, seqs[:: max(1, len(seqs) // LEARNED_FROM)], model.width)
    return vectors


def vectors_of(
    connection: apsw.Connection, seqs: list[int] | list[apsw.SQLiteValue], width: int
) -> tuple[Keys, Floats]:
    """The vectors with these numbers that are there, and their numbers, in the same order."""
    rows = connection.execute(
        "SELECT v.seq, v.vector FROM json_each(?) j CROSS JOIN vectors v ON v.seq = j.value "
        "WHERE length(v.vector) = ?",
        (as_json_list(seqs), 4 * width),  # type: ignore[arg-type]
    ).fetchall()
    return np.array([seq for seq, _ in rows], np.int64), _floats([row[1] for row in rows], width)


def extend(database: Database, identity: str) -> None:
    """Write what is due, each chunk in a short transaction. Where little is due and
    another process writes, it is left to the next time."""
    with suppress(StoreError), database.translated():
        connection = database.connection()
        behind = waits() and connection.execute(BEHIND, (identity, MOST_DUE)).get is not None
        with nullcontext() if behind else without_waiting():
            while not database.frozen and (due := _due(database.connection(), identity)):
                with database.writing() as connection:
                    _write(connection, due)


def scrub(database: Database) -> None:
    """Make every chunk anew that may hold codes of removed vectors."""
    for (identity,) in database.rows("SELECT identity FROM models"):
        with database.translated():
            while due := _due(database.connection(), str(identity), most_removals=0):
                with database.writing() as connection:
                    _write(connection, due)


def fill(connection: apsw.Connection) -> None:
    """Within a transaction, make all codebooks and chunks again."""
    connection.execute("DELETE FROM vector_codes")
    connection.execute("DELETE FROM codebooks")
    for (identity,) in connection.execute("SELECT identity FROM models").fetchall():
        while (due := _due(connection, str(identity))) is not None:
            _write(connection, due)


def problem(connection: apsw.Connection) -> str | None:
    """What differs between the chunks and the vectors; of the codes a sample is compared."""
    wrong = 0
    log = np.array(connection.execute("SELECT seq, vector FROM vectors_removed").fetchall())
    log = log.reshape(-1, 2)
    for (identity,) in connection.execute("SELECT identity FROM models").fetchall():
        model = model_of(connection, str(identity))
        assert model is not None
        after = 0
        for last, removed, *blobs in connection.execute(CHUNKS, (model.key,)):
            gone = log[log[:, 0] > removed, 1]
            wrong += not _right(connection, model, (after, last), gone, blobs)
            after = last
    return f"{wrong} chunks of the vector index differ from the vectors" if wrong else None


def _right(
    connection: apsw.Connection,
    model: CodedModel,
    stretch: tuple[int, int],
    gone: Keys,
    blobs: list[apsw.SQLiteValue],
) -> bool:
    """Whether a chunk holds the vectors of its stretch, those that are `gone` apart."""
    try:
        seqs, memories, packed = _checked(blobs, model.width)
    except apsw.CorruptError:
        return False
    left = np.flatnonzero(~np.isin(seqs, gone))
    sql = "SELECT seq, memory FROM vectors WHERE model = ? AND seq > ? AND seq <= ? ORDER BY seq"
    real = connection.execute(sql, (model.key, *stretch)).fetchall()
    if real != list(zip(seqs[left].tolist(), memories[left].tolist(), strict=True)):
        return False
    if model.points is None:
        return False
    stored, anew = (scan.codes(model.width, model.points) for _ in range(2))
    if stored is None or anew is None or not len(left):
        return True
    stored.take([packed], len(packed))
    sampled = left[:: max(1, len(left) // SAMPLED)]
    anew.add(vectors_of(connection, seqs[sampled].tolist(), model.width)[1])
    return np.array_equal(stored.decoded(sampled.tolist()), anew.decoded(range(len(sampled))))


def _checked(blobs: list[apsw.SQLiteValue], width: int) -> tuple[Keys, Keys, bytes]:
    """A chunk's numbers, memories and codes; CorruptError where they do not fit together."""
    seqs, memories, codes = blobs
    assert isinstance(seqs, bytes)
    assert isinstance(memories, bytes)
    assert isinstance(codes, bytes)
    rows, odd = divmod(len(seqs), 8)
    packed = -(-rows // BLOCK) * BLOCK * row_size(width)
    if odd or not rows or len(memories) != len(seqs) or len(codes) != packed:
        raise apsw.CorruptError("a chunk of the vector index has a wrong size")
    return np.frombuffer(seqs, "<i8"), np.frombuffer(memories, "<i8"), codes


def row_size(width: int) -> int:
    """The bytes of one vector's code: half a byte a pair of dimensions."""
    return -(-(width // 2) // 2)


def _due(
    connection: apsw.Connection, identity: str, most_removals: int | None = None
) -> CodedModel | CodeChunk | None:
    """What is to be written next: a model with its first codebook, or a chunk; None for nothing.
    most_removals: a chunk that was made before more of them is made anew; None: MOST_REMOVALS."""
    due: CodedModel | CodeChunk | None = None
    with connection:  # all of it is read at one moment
        model = model_of(connection, identity)
        if model is not None and model.points is None:
            sql = "SELECT 1 FROM vectors WHERE model = ? LIMIT 1 OFFSET ?"
            if connection.execute(sql, (model.key, vector_rows.EXACT_ROWS)).fetchall():
                points = scan.learned(sample(connection, model))
                due = None if points is None else model._replace(points=points)
        elif model is not None:
            removed = last_removed(connection)
            most = MOST_REMOVALS if most_removals is None else most_removals
            due = _new(connection, model, removed) or _made_anew(connection, model, removed, most)
    return due


def _new(connection: apsw.Connection, model: CodedModel, removed: int) -> CodeChunk | None:
    """A chunk of the vectors behind the last one, if there are enough."""
    [(after,)] = connection.execute(
        "SELECT coalesce(max(last), 0) FROM vector_codes WHERE model = ?", (model.key,)
    ).fetchall()
    last = connection.execute(
        "SELECT seq FROM vectors WHERE model = ? AND seq > ? ORDER BY seq LIMIT 1 OFFSET ?",
        (model.key, after, CHUNK_ROWS - 1),
    ).fetchone()
    if last is None:
        return None
    return _chunk(connection, model, after, last[0], removed, [])  # type: ignore[arg-type]


def _made_anew(
    connection: apsw.Connection, model: CodedModel, removed: int, most: int
) -> CodeChunk | None:
    """The chunk that most was removed since, if that is more than `most`: without what was removed,
    and with the next chunk where the two fit into one."""
    ends: list[tuple[int, int, int]] = connection.execute(
        "SELECT last, removed, length(seqs) / 8 FROM vector_codes WHERE model = ? ORDER BY last",
        (model.key,),
    ).fetchall()  # type: ignore[assignment]
    place, oldest = min(enumerate(ends), key=lambda end: end[1][1], default=(0, None))
    if oldest is None or removed - oldest[1] <= most:
        return None
    after = ends[place - 1][0] if place else 0
    alone = _chunk(connection, model, after, oldest[0], removed, [oldest[:2]])
    if alone is None or place + 1 == len(ends):
        return alone
    following = ends[place + 1]
    if len(alone.seqs) + following[2] > CHUNK_ROWS:
        return alone
    return _chunk(connection, model, after, following[0], removed, [oldest[:2], following[:2]])


def _chunk(
    connection: apsw.Connection,
    model: CodedModel,
    after: int,
    last: int,
    removed: int,
    replaced: list[tuple[int, int]],
) -> CodeChunk | None:
    """The chunk of the vectors behind `after` up to `last`; None without faiss."""
    assert model.points is not None
    codes = scan.codes(model.width, model.points)
    if codes is None:
        return None
    rows = connection.execute(STRETCH, (model.key, after, last, 4 * model.width)).fetchall()
    if rows:
        codes.add(_floats([row[2] for row in rows], model.width))
    seqs, memories = (np.array([row[column] for row in rows], "<i8") for column in (0, 1))
    return CodeChunk(model, after, last, removed, replaced, seqs, memories, codes.packed())


def _write(connection: apsw.Connection, due: CodedModel | CodeChunk) -> None:
    """Write it, unless another process has done so since it was read."""
    if isinstance(due, CodedModel):
        assert due.points is not None
        connection.execute(
            "INSERT INTO codebooks (model, points) SELECT key, ? FROM models WHERE key = ? "
            "ON CONFLICT DO NOTHING",
            (due.points.astype("<f4").tobytes(), due.key),
        )
        return
    model = due.model.key
    upto = due.last if due.replaced else LAST
    there = connection.execute(
        "SELECT last, removed FROM vector_codes WHERE model = ? AND last > ? AND last <= ? "
        "ORDER BY last",
        (model, due.after, upto),
    ).fetchall()
    sql = "SELECT key FROM codebooks WHERE model = ?"
    if there != due.replaced or connection.execute(sql, (model,)).get != due.model.codebook:
        return
    connection.executemany(
        "DELETE FROM vector_codes WHERE model = ? AND last = ?",
        [(model, last) for last, _ in due.replaced],
    )
    if len(due.seqs):
        connection.execute(
            "INSERT INTO vector_codes (model, last, removed, seqs, memories, codes) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            (model, due.last, due.removed, due.seqs.tobytes(), due.memories.tobytes(), due.codes),
        )


def _floats(blobs: list[apsw.SQLiteValue], width: int) -> Floats:
    rows = np.frombuffer(b"".join(blobs), "<f4").reshape(len(blobs), width)  # type: ignore[arg-type]
    return rows.astype(np.float32, copy=False)
