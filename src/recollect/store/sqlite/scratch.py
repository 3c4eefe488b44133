"""A vault in memory, for one search: what another server sent, to be searched like any other."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from recollect.lifetime import Lifetime
from recollect.store.history import Author, Change
from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.errors import as_store_errors
from recollect.store.sqlite.migration import migrate
from recollect.store.sqlite.store import SqliteStore
from recollect.times import EPOCH

# Of what is written to a vault that keeps no history.
UNKEPT = Change("search", Author("server"), lambda: EPOCH)


class ScratchDatabase(Database):
    """One connection to a database that is on no disk. Threads may take turns with it."""

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
    def translated(self, *, counts: bool = True) -> Iterator[None]:
        with as_store_errors(self.path):
            yield

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        with self.translated():  # it has no segments, and nobody writes but its owner
            yield self._only

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        with self.translated(), self._only:
            yield self._only

    def close(self) -> None:
        self._only.close()


class ScratchStore(SqliteStore):
    keeps_history = False

    def __init__(self) -> None:
        self._use(ScratchDatabase(), lifetime=Lifetime.ONCE)
