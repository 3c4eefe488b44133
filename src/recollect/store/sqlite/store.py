"""The vault: everything one SQLite file holds, behind the protocols of `store/base.py`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from recollect.store.base import Writing
from recollect.store.sqlite.cipher import KeySource
from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.feedback import SqliteFeedback
from recollect.store.sqlite.folders import SqliteFolders
from recollect.store.sqlite.keyword import SqliteKeyword
from recollect.store.sqlite.memories import SqliteMemories, SqliteWriting
from recollect.store.sqlite.stats import counts
from recollect.store.sqlite.topics import SqliteTopics
from recollect.store.sqlite.upkeep import Finding, examine, rebuild, scrub
from recollect.store.sqlite.vectors import SqliteVectors
from recollect.store.sqlite.vocabulary import SqliteVocabulary


class SqliteStore:
    """One vault file. `brief`: this process searches only once or twice, so what pays off later is
    not made. `keys` returns the key of a locked vault. `at_rest`: as `seal` leaves it."""

    def __init__(
        self,
        path: Path,
        *,
        brief: bool = False,
        keys: KeySource | None = None,
        at_rest: bool = False,
    ) -> None:
        self.database = Database(path, keys, at_rest=at_rest)
        self.topics = SqliteTopics(self.database)
        self.memories = SqliteMemories(self.database, self.topics)
        self.keyword = SqliteKeyword(self.database, self.topics)
        self.vectors = SqliteVectors(self.database, self.topics, brief=brief)
        self.vocabulary = SqliteVocabulary(self.database)
        self.feedback = SqliteFeedback(self.database)
        self.folders = SqliteFolders(self.database)

    @contextmanager
    def writing(self) -> Iterator[Writing]:
        with self.database.writing() as connection:
            writing = SqliteWriting(connection, self.topics)
            yield writing
            writing.finish()

    def rebuild(self) -> None:
        """Make everything that is derived from the memories again, except vectors."""
        rebuild(self.database, self.topics)

    def scrub(self) -> None:
        """Remove what is left of purged memories in the file."""
        scrub(self.database)

    def examine(self) -> Iterator[Finding]:
        """Check everything that is derived from the memories."""
        with self.database.translated():
            yield from examine(self.database, self.topics)

    def changes(self) -> int:
        """A number that changes whenever another connection has written."""
        [(version,)] = self.database.rows("PRAGMA data_version")
        assert isinstance(version, int)
        return version

    def counts(self) -> dict[str, Any]:
        """How many memories, tags and so on there are."""
        return counts(self.database)

    def seal(self, idle_s: float) -> bool:
        """Forget the key of a locked vault that was not used for `idle_s` seconds, and what is in
        memory of it. Return whether it did."""
        if not self.database.seal(idle_s):
            return False
        self.topics.forget()
        self.vectors.forget()
        self.vocabulary.forget()
        return True

    def close(self) -> None:
        self.database.close()
