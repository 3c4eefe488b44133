"""Write memories, a transaction at a time.

Changes are deferred and written in bulk: at the end of the transaction, when a bulk write has added
enough, and before the transaction itself reads anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from recollect.store.base import Stored
from recollect.store.feedback import FeedbackEvent, complete_feedback
from recollect.store.folders import StoredFiles
from recollect.store.history import Change
from recollect.store.memory_rows import FIELDS, PreparedMemories, content_hash_of, values_of
from recollect.times import to_micros
from recollect.types import Memory
from recollect_postgres.database import PostgresDatabase
from recollect_postgres.history import VersionsRecord
from recollect_postgres.indexing import index
from recollect_postgres.memories import find_stored
from recollect_postgres.pool import Connection
from recollect_postgres.segments import MadeSegment
from recollect_postgres.transactions import Growth
from recollect_postgres.vectors import IndexChange

COLUMNS = (*FIELDS, "tags", "content_hash", "forgotten_at")
# As JSON: an array for each column cannot hold tags, which are arrays of different lengths.
INSERT = f"""
INSERT INTO memories (vault, key, {", ".join(COLUMNS)})
SELECT vault(), r.key, {", ".join(f"r.{column}" for column in COLUMNS)}
  FROM json_populate_recordset(NULL::memories, %s::json) AS r"""
INSERT_TOPICS = """
INSERT INTO topics (vault, topic, memory, name)
SELECT vault(), * FROM unnest(%s::text[], %s::bigint[], %s::text[])"""
UPDATE = (
    f"UPDATE memories SET {', '.join(f'{column} = %s' for column in COLUMNS)} "
    "WHERE vault = vault() AND key = %s"
)
# Without a version, which would keep the id of the purged memory.
NO_FEEDBACK = "DELETE FROM feedback WHERE vault = vault() AND memory_id = ANY(%s)"
NO_VECTORS = """
DELETE FROM feedback_vectors v WHERE vault = vault() AND NOT EXISTS (
    SELECT 1 FROM feedback f WHERE f.vault = vault() AND f.words = v.words)"""
UNLINK = "UPDATE memories SET superseded_by = '' WHERE vault = vault() AND superseded_by = ANY(%s)"
GROWN, MANY = 2, 1_000  # reading fewer takes a millisecond


class PostgresWriting:
    """One write transaction."""

    def __init__(self, database: PostgresDatabase, connection: Connection, change: Change) -> None:
        self._database = database
        self._connection = connection
        self._last_key = database.lock.last_key
        self.versions = VersionsRecord(connection, change, database.lock.last_write)
        self.files = StoredFiles(connection, database.sql, database.among, self.flush)
        # Deferred changes; None for a memory that does not exist.
        self._before: dict[int, Stored | None] = {}
        self._after: dict[int, Stored | None] = {}
        self._purged: dict[int, str] = {}  # ids, by key
        self._documents = self._forgotten = 0
        self.made: list[MadeSegment] = []

    @property
    def has_grown(self) -> bool:
        """True if the vault has grown enough to need an ANALYZE: with outdated statistics
        PostgreSQL might read all memories to find one."""
        before = self._database.lock.documents
        return before + self._documents > max(GROWN * before, MANY)

    def find(self, ids: Iterable[str]) -> dict[str, Stored]:
        if not (asked := [*ids]):
            return {}
        known = {} if self._after else self._database.found()
        if known.keys() >= set(asked):
            return {id: stored for id in asked if (stored := known[id]) is not None}
        self.flush()
        return find_stored(self._connection, asked)

    def add(self, memory: Memory) -> Stored:
        self._last_key += 1
        stored = Stored(self._last_key, memory)
        self._defer(stored.key, None, stored)
        return stored

    def replace(self, before: Stored, after: Memory) -> Stored:
        stored = Stored(before.key, after)
        self._defer(before.key, before, stored)
        return stored

    def forget(self, before: Stored, at: datetime) -> None:
        self._defer(before.key, before, before._replace(forgotten_at=at))

    def restore(self, before: Stored) -> None:
        self._defer(before.key, before, before._replace(forgotten_at=None))

    def purge(self, before: Stored) -> None:
        self._defer(before.key, before, None)
        self._purged[before.key] = before.memory.id

    def _defer(self, key: int, before: Stored | None, after: Stored | None) -> None:
        self._before.setdefault(key, before)
        self._after[key] = after
        self.versions.note_change(key, before, after)

    def index_added(self, prepared: PreparedMemories | None = None) -> None:
        self.flush(prepared)

    def complete_feedback(self, events: Iterable[tuple[FeedbackEvent, int]]) -> int:
        return complete_feedback(self._connection, self._database.sql, events)

    def flush(self, prepared: PreparedMemories | None = None) -> None:
        """Write deferred changes and index them; `prepared` is an index made in advance."""
        before, after = self._before, self._after
        if not after:
            return
        self._before, self._after = {}, {}
        self._database.facts_changed()
        with self._connection.pipeline():
            self._write(before, after, prepared)

    def _write(
        self,
        before: Mapping[int, Stored | None],
        after: Mapping[int, Stored | None],
        prepared: PreparedMemories | None,
    ) -> None:
        gone = [key for key, stored in after.items() if stored is None and before[key] is not None]
        new = [stored for key, stored in after.items() if stored and before[key] is None]
        changed = [stored for key, stored in after.items() if stored and before[key]]
        if gone:
            sql = "DELETE FROM memories WHERE vault = vault() AND key = ANY(%s)"
            self._connection.execute(sql, (gone,))
        if changed:
            with self._connection.cursor() as cursor:
                cursor.executemany(UPDATE, [(*_values(one), one.key) for one in changed])
        if new:
            self._connection.execute(INSERT, (_as_json(new),))
        self._write_topics(before, after)
        self._index(before, after, prepared)
        if self._purged:
            keys, ids = [*self._purged], [*self._purged.values()]
            self._purged = {}
            self._connection.execute(UNLINK, (ids,))
            self._connection.execute(NO_FEEDBACK, (ids,))
            self._connection.execute(NO_VECTORS)
            self.versions.purge(keys, ids)

    def _write_topics(
        self, before: Mapping[int, Stored | None], after: Mapping[int, Stored | None]
    ) -> None:
        tags = {key: (_tags(before[key]), _tags(stored)) for key, stored in after.items()}
        if old := [key for key, (was, now) in tags.items() if was and was != now]:
            sql = "DELETE FROM topics WHERE vault = vault() AND memory = ANY(%s)"
            self._connection.execute(sql, (old,))
        rows = [(key, name) for key, (was, now) in tags.items() if was != now for name in now]
        if rows:
            keys, names = zip(*rows, strict=True)
            topics = [name.lower() for name in names]
            self._connection.execute(INSERT_TOPICS, (topics, [*keys], [*names]))

    def _index(
        self,
        before: Mapping[int, Stored | None],
        after: Mapping[int, Stored | None],
        prepared: PreparedMemories | None,
    ) -> None:
        changes = [
            IndexChange(key, _live(before[key]), _live(stored)) for key, stored in after.items()
        ]
        live = [one for one in changes if one.before is not one.after]
        self._documents += sum((one.after is not None) - (one.before is not None) for one in live)
        self._forgotten += _forgotten(after.values()) - _forgotten(before.values())
        if live:
            self.made += index(self._connection, live, prepared)

    def finish(self) -> Growth:
        """Write the rest, once per transaction."""
        self.flush()
        size = self.versions.apply()
        write = self.versions.write or 0
        return Growth(self._last_key, write, self._documents, self._forgotten, size)


def _values(stored: Stored) -> tuple[object, ...]:
    """Return the columns of a memory, live or forgotten."""
    at = None if stored.forgotten_at is None else to_micros(stored.forgotten_at)
    memory = stored.memory
    return *values_of(memory), [*memory.tags], content_hash_of(memory), at


def _as_json(memories: Sequence[Stored]) -> str:
    rows = []
    for stored in memories:
        row = dict(zip(COLUMNS, _values(stored), strict=True), key=stored.key)
        row["content_hash"] = "\\x" + content_hash_of(stored.memory).hex()
        rows.append(row)
    return msgspec.json.encode(rows).decode()


def _live(stored: Stored | None) -> Memory | None:
    return None if stored is None or stored.forgotten else stored.memory


def _tags(stored: Stored | None) -> tuple[str, ...]:
    return () if stored is None else stored.memory.tags


def _forgotten(memories: Iterable[Stored | None]) -> int:
    return sum(1 for stored in memories if stored is not None and stored.forgotten)
