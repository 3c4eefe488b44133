"""The vault in one SQLite file, with the protocols of `store/base.py`."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cached_property
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from recollect.deadline import without_waiting
from recollect.errors import Damaged, StoreError
from recollect.lifetime import Lifetime
from recollect.store.base import Writing
from recollect.store.folders import StoredFolders
from recollect.store.history import Author, Change
from recollect.store.memory_rows import PreparedMemories
from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.errors import as_store_errors
from recollect.store.sqlite.feedback import SqliteFeedback, SqliteUsage
from recollect.store.sqlite.filters import SqliteTopics
from recollect.store.sqlite.history import SqliteHistory
from recollect.store.sqlite.keyword import PackedIndexes, SqliteKeyword
from recollect.store.sqlite.memories import SqliteMemories, read_purge_note
from recollect.store.sqlite.migration import migrate
from recollect.store.sqlite.vault_files import KeySource
from recollect.store.sqlite.vocabulary import SqliteVocabulary
from recollect.store.sqlite.writing import BackgroundMerging, write_many, write_memories
from recollect.store.upkeep import AgingCaptures, CapturedRemarks, Reviews, Trash
from recollect.store.vault import Finding
from recollect.times import EPOCH
from recollect.types import Degraded

if TYPE_CHECKING:
    from recollect.store.sqlite.vectors import SqliteVectors

# The folders come first: their files are found by an index.
FIRST_PARTS = """
SELECT j.value, m.id FROM folders o CROSS JOIN json_each(?) j
 CROSS JOIN files f ON f.folder = o.key AND f.path IN (
     j.value, iif(instr(j.value, o.path || '/') = 1, substr(j.value, length(o.path) + 2), ''))
  JOIN cuts c ON c.file = f.key
  JOIN memories m ON m.key = c.memory AND m.forgotten_at IS NULL
 WHERE f.gone_at IS NULL GROUP BY j.value HAVING c.number = min(c.number)"""
COUNTS = """
SELECT (SELECT documents FROM corpus),
       (SELECT count(*) FROM tags t WHERE EXISTS (SELECT 1 FROM memory_tags WHERE tag = t.key)),
       (SELECT count(*) FROM memories WHERE archived_at IS NOT NULL AND forgotten_at IS NULL),
       (SELECT count(*) FROM memories WHERE forgotten_at IS NOT NULL)"""

log = logging.getLogger("recollect.store")
# The reason of writes to a vault that keeps no history.
UNKEPT = Change("search", Author("server"), lambda: EPOCH)


class SqliteStore:
    """One vault file. A command (`Lifetime.ONCE`) prepares nothing for later. `keys` returns the
    key of a locked vault. `at_rest`: do not open it yet, as after `seal`."""

    keeps_history = True

    def __init__(
        self,
        path: Path,
        *,
        lifetime: Lifetime = Lifetime.LIBRARY,
        keys: KeySource | None = None,
        at_rest: bool = False,
    ) -> None:
        self._use(Database(path, keys, self.forget, at_rest=at_rest), lifetime=lifetime)
        with suppress(StoreError):  # damaged
            if not (at_rest or self.database.frozen) and read_purge_note(self.database):
                with without_waiting():
                    self._scrub()

    def _use(self, database: Database, *, lifetime: Lifetime) -> None:
        self.database = database
        self.packed = PackedIndexes(database)
        self.topics = SqliteTopics(database, self.packed)
        self.memories = SqliteMemories(database, self.topics)
        self.keyword = SqliteKeyword(database, self.topics, self.packed)
        self._lifetime = lifetime
        self.vocabulary = SqliteVocabulary(database)
        self.feedback = SqliteFeedback(database)
        self.usage = SqliteUsage(database)
        self.folders = StoredFolders(database, FIRST_PARTS)
        self.history = SqliteHistory(database, self.memories)
        self.reviews = Reviews(database)
        self.candidates = CapturedRemarks(database)
        self.aging = AgingCaptures(database, self.memories.where)
        self.trash = Trash(database, self.memories)
        self.kept = threading.local()  # values that callers keep with the vault, by thread
        self.merging = BackgroundMerging(database, lifetime=lifetime)

    @cached_property
    def vectors(self) -> SqliteVectors:
        from recollect.store.sqlite.vectors import SqliteVectors  # noqa: PLC0415  numpy

        return SqliteVectors(self.database, self.topics, lifetime=self._lifetime)

    def writing(self, change: Change) -> AbstractContextManager[Writing]:
        return write_memories(self, change)

    def writing_many(
        self, change: Change, prepared: PreparedMemories | None = None
    ) -> AbstractContextManager[Writing]:
        return write_many(self, change, prepared)

    def resume_merging(self) -> None:
        """Merge in the background what other processes have left; for a long-lived process."""
        self.merging.resume()

    def rebuild(self) -> None:
        """Rebuild everything derived from the memories, except vectors. Raise Damaged, with nothing
        changed, if a memory cannot be read or is not what was saved."""
        from recollect.store.rescue.repair import mend  # noqa: PLC0415  start-up time

        mend(self, None)

    def scrub(self) -> None:
        """Remove the remains of purged memories from the file, or warn that this is repeated when
        it is next opened; and warn of copies that may hold them."""
        self._scrub()
        vault = self.database.path
        if copies := sorted(vault.parent.glob(f"backups/{escape(vault.stem)}-*.db")):
            sentence = "Copies may still hold what was purged; remove them where that matters: %s"
            log.warning(sentence, ", ".join(map(str, copies)))

    def _scrub(self) -> None:
        from recollect.store.sqlite.segments.merging import scrub  # noqa: PLC0415  start-up time

        try:
            scrub(self.database)
        except Damaged:
            raise
        except StoreError as error:
            log.warning(
                "Words of purged memories stay in the file until it is next opened. %s", error
            )

    def examine(self, advance: Callable[[int], None] = lambda done: None) -> list[Finding]:
        from recollect.store.rescue.checks import examine_store  # noqa: PLC0415  start-up time

        return examine_store(self, advance)

    def glance(self) -> list[Finding]:
        from recollect.store.rescue.checks import glance  # noqa: PLC0415  start-up time

        with self.database.translate_errors():
            return glance(self.database.connection(), self.topics.hash_word)

    def changes(self) -> int:
        """Return a number that changes whenever another connection has written, or the file is
        another. This call does not restart the time of the idle lock."""
        return (self.database.openings << 32) + self.database.data_version()

    @contextmanager
    def searching(self) -> Iterator[Sequence[Degraded]]:
        with self.database.reading():
            yield ()

    @contextmanager
    def moment(self) -> Iterator[object]:
        with self.database.reading() as connection:
            yield connection, connection.pragma("data_version"), connection.total_changes()

    def counts(self) -> dict[str, Any]:
        """Return the number of memories (by kind, tier and project, most frequent first), of
        forgotten ones and of tags, the feedback, and the size of the file with its log."""
        path = self.database.path
        [(memories, tags, archived, forgotten)] = self.database.rows(COUNTS)
        accepted, dismissed = self.feedback.count_standing()
        files = (path, path.with_name(f"{path.name}-wal"))
        return {
            "memories": memories,
            "archived": archived,
            "forgotten": forgotten,
            **self.memories.count_by_field(),
            "tags": tags,
            "feedback": {"accepted": accepted, "dismissed": dismissed},
            "bytes": sum(file.stat().st_size for file in files if file.exists()),
        }

    def seal(self, idle_s: float) -> bool:
        """Forget the key of a locked vault that was not used for `idle_s` seconds, and everything
        in memory of it. Return whether it did."""
        if not self.database.seal(idle_s):
            return False
        self.forget()
        return True

    def forget(self) -> None:
        self.packed.forget()
        self.topics.forget()
        if "vectors" in self.__dict__:
            self.vectors.forget()
        self.vocabulary.forget()
        self.feedback.forget()
        self.kept = threading.local()

    def close(self) -> None:
        self.usage.close()
        self.merging.close()
        self.database.close()


class ScratchDatabase(Database):
    """One connection to a database in memory. Threads may take turns with it."""

    def __init__(self) -> None:
        self.path = Path(":memory:")
        self._only = apsw.Connection(":memory:")
        migrate(self._only, self.path)

    @property
    def frozen(self) -> bool:
        return False

    def connection(self) -> apsw.Connection:
        return self._only

    @contextmanager
    def translate_errors(self, *, counts: bool = True) -> Iterator[None]:
        with as_store_errors(self.path):
            yield

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        with self.translate_errors():  # it has no segments, and its owner alone writes
            yield self._only

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        with self.translate_errors(), self._only:
            yield self._only

    def close(self) -> None:
        self._only.close()


class ScratchStore(SqliteStore):
    """A vault in memory, without history, for texts that are searched like a vault for a moment."""

    keeps_history = False

    def __init__(self) -> None:
        self._use(ScratchDatabase(), lifetime=Lifetime.ONCE)
