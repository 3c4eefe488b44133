"""One model's vectors in memory, kept in step with the file: few as they are, many as codes.

The arrays have room to grow, so that a save costs one row and not a copy of all. A removed row is
marked; when too many are marked, the arrays are made anew. A search works on the rows that were
there when it began.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

import apsw
import numpy as np

from recollect.errors import DimensionMismatch
from recollect.store.base import VectorMatch
from recollect.store.memory_rows import stored_id
from recollect.store.sqlite import scan, vector_codes, vector_rows
from recollect.store.sqlite.connection import as_json_list
from recollect.store.sqlite.vector_codes import CodedModel
from recollect.store.sqlite.vector_rows import PassingRows, VectorRows
from recollect.types import Span

if TYPE_CHECKING:
    from recollect.store.base import Vector
    from recollect.store.sqlite.vector_rows import Keys, NearRow

MOST_REMOVED = 0.25
# So many chunks behind, it is quicker to read them all than the vectors that came since.
MOST_CHUNKS = 8

ADDED = """
SELECT v.seq, v.memory, v.vector FROM vectors v
 WHERE v.model = ? AND v.seq > ? AND length(v.vector) = ? ORDER BY v.seq"""
REMOVED = "SELECT seq, vector FROM vectors_removed WHERE seq > ? ORDER BY seq"
COUNT = "SELECT count(*) FROM (SELECT 1 FROM vectors WHERE model = ? LIMIT ?)"
NAMED = """
SELECT v.seq, m.id, v.passage, v.start, v.stop FROM json_each(?) j
  CROSS JOIN vectors v ON v.seq = j.value CROSS JOIN memories m ON m.key = v.memory"""
NEWER = "SELECT count(*) FROM vector_codes WHERE model = ? AND last > ?"


class Matrix:
    """The vectors of one model, and how far in the file they were read.

    With `dimensions`, each vector is cut to that many and normalised again (Matryoshka); the vault
    has no codes of such vectors. `once`: this process searches only once or twice, so no codes are
    made that the vault does not have.
    """

    def __init__(self, identity: str, dimensions: int, *, once: bool = False) -> None:
        self._once = once
        self._identity = identity
        self._dimensions = dimensions
        self._guard = threading.Lock()
        self._states: dict[int, tuple[object, int]] = {}
        self._read = 0
        self._removed = 0
        self._model: CodedModel | None = None
        self._stored: VectorRows | None = None
        self._dead = 0

    def follow(self, connection: apsw.Connection) -> None:
        """Read what was added and removed since the last time; quick when nothing was."""
        state = (connection.pragma("data_version"), connection.total_changes())
        if self._states.get(id(connection)) == state:
            return
        with self._guard, connection:  # everything is read at one moment
            model = vector_codes.model_of(connection, self._identity)
            stored = self._going_on(connection, model)
            while model is not None:
                anew = stored is None
                stored = self._extended(connection, model, stored or self._begun(connection, model))
                gone = self._take_removed(connection, stored)
                self._dead = 0 if anew else self._dead + gone
                if self._dead <= MOST_REMOVED * stored.size:
                    break
                stored = None
            self._model, self._stored = model, stored
            self._states[id(connection)] = state

    def nearest(
        self,
        connection: apsw.Connection,
        vector: Vector,
        limit: int,
        passing: PassingRows | None,
    ) -> list[VectorMatch]:
        """The `limit` best memories among these rows, and every one as good as the last of them.
        A memory counts by its best passage."""
        model = self._model
        if passing is None or model is None or not passing.stored.size or limit < 1:
            return []
        if len(vector) != model.width:
            raise DimensionMismatch(model.width, len(vector))
        query = vector_rows.shaped(vector[None, :], self._dimensions)[0]
        read = partial(self._vectors, connection, model.width)
        best = vector_rows.nearest(passing, query, limit, read)
        return _named(connection, passing.stored, best)

    def passing(self, among: Keys | None, without: Keys | tuple[()]) -> PassingRows | None:
        """The rows of the memories with these keys (None: of all), without those to leave out."""
        return self._stored and vector_rows.passing(self._stored, among, without)

    def still_has(self, passing: PassingRows) -> bool:
        """Whether these rows are numbered as they were."""
        return passing.stored is self._stored

    def _vectors(self, connection: apsw.Connection, width: int, seqs: Keys) -> tuple[Keys, Vector]:
        found, vectors = vector_codes.vectors_of(connection, seqs.tolist(), width)
        return found, vector_rows.shaped(vectors, self._dimensions)

    def _going_on(self, connection: apsw.Connection, model: CodedModel | None) -> VectorRows | None:
        """The rows to go on with; None to begin anew: another codebook, or too far behind."""
        stored, before = self._stored, self._model
        if stored is None or model is None or before is None or model[:3] != before[:3]:
            return None
        if stored.codes is not None:
            newer = connection.execute(NEWER, (model.key, self._read)).get
            if isinstance(newer, int) and newer > MOST_CHUNKS:
                return None
        return stored

    def _begun(self, connection: apsw.Connection, model: CodedModel) -> VectorRows:
        """The rows of the vault's chunks; without chunks, no rows yet."""
        self._read = 0
        self._removed = vector_codes.last_removed(connection)  # no row, none to remove
        width = min(self._dimensions or model.width, model.width)
        if model.points is not None and width == model.width:
            codes = scan.codes(width, model.points)
            if codes is not None:
                stored, ends = vector_codes.load(connection, model, codes)
                if ends:
                    self._read, self._removed = ends[-1][0], min(removed for _, removed in ends)
                return stored
        limit = -1 if self._once else vector_rows.EXACT_ROWS + 1
        count = int(str(connection.execute(COUNT, (model.key, limit)).get))
        points = None
        if count == limit:
            sample = vector_codes.sample(connection, model)
            points = scan.learned(vector_rows.shaped(sample, self._dimensions))
        codes = None if points is None else scan.codes(width, points)
        return vector_rows.with_room(count, width, codes)

    def _extended(
        self, connection: apsw.Connection, model: CodedModel, stored: VectorRows
    ) -> VectorRows:
        """The rows with those that came since."""
        asked = (model.key, self._read, 4 * model.width)
        rows: Iterator[tuple[apsw.SQLiteValue, ...]] = iter(connection.execute(ADDED, asked))
        while batch := list(islice(rows, vector_rows.READ_ROWS)):
            seqs, keys, blobs = zip(*batch, strict=True)
            read = np.frombuffer(b"".join(blobs), "<f4").reshape(len(blobs), model.width)
            stored = vector_rows.appended(
                stored,
                np.array(seqs, np.int64),
                np.array(keys, np.int64),
                vector_rows.shaped(read.astype(np.float32, copy=False), self._dimensions),
            )
            self._read = seqs[-1]
        return stored if self._once else vector_rows.coded(stored)

    def _take_removed(self, connection: apsw.Connection, stored: VectorRows) -> int:
        """Mark the rows that were removed since the last time and return their number."""
        removed = connection.execute(REMOVED, (self._removed,)).fetchall()
        if not removed:
            return 0
        self._removed = removed[-1][0]  # type: ignore[assignment]
        gone = np.array([seq for _, seq in removed], np.int64)
        seqs = stored.seqs[: stored.size]
        rows = np.searchsorted(seqs, gone)
        rows = rows[np.isin(gone, seqs)]
        stored.alive[rows] = False
        return len(rows)


def _named(
    connection: apsw.Connection, stored: VectorRows, best: Sequence[NearRow]
) -> list[VectorMatch]:
    """The memories with their ids and passages."""
    seqs = [int(stored.seqs[near.row]) for near in best]
    named = {row[0]: row[1:] for row in connection.execute(NAMED, (as_json_list(seqs),))}
    matches = []
    for seq, near in zip(seqs, best, strict=True):
        if seq in named:
            id, passage, start, stop = named[seq]
            span = Span(start, stop)
            matches.append(VectorMatch(stored_id(id), near.cosine, passage, span, near.key))
    return matches
