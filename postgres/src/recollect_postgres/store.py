"""A vault in PostgreSQL: implements the protocols of `store/base.py`. This is the entry point of
the distribution (see `recollect.store.registry.StoreType`)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any

from recollect.errors import StoreError
from recollect.lifetime import Lifetime
from recollect.settings import StoreSettings
from recollect.store.base import Writing
from recollect.store.folders import StoredFolders
from recollect.store.history import Change
from recollect.store.memory_rows import PreparedMemories
from recollect.store.upkeep import AgingCaptures, CapturedRemarks, Reviews, Trash
from recollect.store.vault import Finding
from recollect.types import Degraded
from recollect_postgres import indexing
from recollect_postgres.access import PostgresAccess
from recollect_postgres.database import PostgresDatabase
from recollect_postgres.examination import counts_finding, examine, word_findings
from recollect_postgres.feedback import PostgresFeedback, PostgresUsage
from recollect_postgres.history import PostgresHistory
from recollect_postgres.indexing import PostgresVocabulary
from recollect_postgres.memories import PostgresMemories, PostgresTopics
from recollect_postgres.merging import Merging
from recollect_postgres.segments import PostgresKeyword, WordSegments
from recollect_postgres.transactions import CHANGES, Growth
from recollect_postgres.vectors import PostgresVectors
from recollect_postgres.writing import PostgresWriting

COUNTS = """
SELECT documents, forgotten,
       (SELECT count(*) FROM memories m WHERE m.vault = vault() AND m.archived_at IS NOT NULL
           AND m.forgotten_at IS NULL),
       (SELECT count(DISTINCT name) FROM topics t WHERE t.vault = vault()),
       pg_database_size(current_database())
  FROM vaults WHERE key = vault()"""
WORDS_LEFT = (
    "The memories are purged, but {place} did not let their words be removed from the word index; "
    "run `recollect reindex` to remove them."
)
# The first memory of each file, by its path.
FIRST_PARTS = """
SELECT DISTINCT ON (j.path) j.path, m.id FROM unnest(%s::text[]) AS j (path)
  JOIN folders o ON o.vault = vault()
  JOIN files f ON f.vault = o.vault AND f.folder = o.key AND f.gone_at IS NULL
       AND (f.path = j.path OR o.path || '/' || f.path = j.path)
  JOIN chunks c ON c.vault = f.vault AND c.file = f.key
  JOIN memories m ON m.vault = c.vault AND m.key = c.memory AND m.forgotten_at IS NULL
 ORDER BY j.path, c.number, m.id"""


class PostgresStore:
    """One vault of a database. A one-shot process caches nothing and merges only at its end."""

    def __init__(
        self, url: str, vault: str, *, lifetime: Lifetime = Lifetime.LIBRARY, **options: Any
    ) -> None:
        self.database = PostgresDatabase(url, vault, **options)
        self.memories = PostgresMemories(self.database)
        self._words = WordSegments(self.database)
        self.database.attach(self._words, Merging(self.database, self._words, lifetime=lifetime))
        self.keyword = PostgresKeyword(self.database, self._words)
        self.vectors = PostgresVectors(self.database, lifetime=lifetime)
        self.topics = PostgresTopics(self.database)
        self.vocabulary = PostgresVocabulary(self.database)
        self.feedback = PostgresFeedback(self.database)
        self.usage = PostgresUsage(self.database, self.memories)
        self.folders = StoredFolders(self.database, FIRST_PARTS)
        self.history = PostgresHistory(self.database, self.memories)
        self.reviews = Reviews(self.database)
        self.candidates = CapturedRemarks(self.database)
        self.aging = AgingCaptures(self.database, self.memories.where)
        self.trash = Trash(self.database, self.memories)
        self.kept = threading.local()  # caches of other modules, by thread

    @contextmanager
    def writing(self, change: Change) -> Iterator[Writing]:
        with self.database.writing(facts=True) as connection:
            writing = PostgresWriting(self.database, connection, change)

            def finish() -> Growth:
                if self.usage.due:
                    self.usage.add_to(connection)
                return writing.finish()

            self.database.defer(writing.flush, finish)
            yield writing
        change.set_number(writing.versions.write)
        self._words.hold(writing.made)
        self.database.merging.note_write()
        if writing.has_grown:
            # The write is done, even if the connection is lost now.
            with suppress(StoreError), self.database.side_transaction() as connection:
                connection.execute("ANALYZE memories")

    def writing_many(
        self, change: Change, prepared: PreparedMemories | None = None
    ) -> AbstractContextManager[Writing]:
        return self.writing(change)

    def searching(self) -> AbstractContextManager[Sequence[Degraded]]:
        return self.database.searching()

    @contextmanager
    def moment(self) -> Iterator[object]:
        with self.database.reading():
            yield self.changes()

    def changes(self) -> int:
        """A number that grows with each write, also by this process."""
        [(changes,)] = self.database.rows(CHANGES)
        return int(changes)

    def counts(self) -> dict[str, Any]:
        """Return the numbers of memories, tags and so on; `bytes` is the size of the whole
        database."""
        with self.database.reading():
            [(memories, forgotten, archived, tags, size)] = self.database.rows(COUNTS)
            grouped = self.memories.count_by_field()
            accepted, dismissed = self.feedback.count_standing()
        return {
            "memories": memories,
            "archived": archived,
            "forgotten": forgotten,
            **grouped,
            "tags": tags,
            "feedback": {"accepted": accepted, "dismissed": dismissed},
            "bytes": size,
        }

    def rebuild(self) -> None:
        with self.database.writing() as connection:
            indexing.rebuild(connection)

    def examine(self, advance: Callable[[int], None] = lambda done: None) -> list[Finding]:
        with self.database.reading() as connection:
            return examine(connection, advance) + word_findings(connection, self._words)

    def glance(self) -> list[Finding]:
        with self.database.reading() as connection:
            return [counts_finding(connection)]

    def scrub(self) -> None:
        """Remove the words of purged memories; PostgreSQL's own vacuum clears deleted rows."""
        try:
            self.database.retrying(lambda: self.database.merging.run(scrub=True), repeatable=True)
        except StoreError as error:  # its own sentence would say that nothing was written
            raise StoreError(WORDS_LEFT.format(place=self.database.place)) from error

    def resume_merging(self) -> None:
        """Merge in the background what other processes have left; for long-lived processes."""
        self.database.merging.resume()

    def close(self) -> None:
        self.usage.close()
        self.vectors.close()
        self.database.merging.close()
        self.database.close()


def open_store(place: StoreSettings, *, lifetime: Lifetime) -> PostgresStore:
    """Open the vault named `place.vault`."""
    return PostgresStore(
        place.url,
        place.vault,
        lifetime=lifetime,
        retry_s=place.retry_s,
        read_url=place.read_url,
        max_staleness_s=place.max_staleness_s,
    )


def open_access(place: StoreSettings) -> PostgresAccess:
    """Open the tokens, browser sessions and logs of that vault's servers."""
    return PostgresAccess(place)
