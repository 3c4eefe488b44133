"""The store contract, held by the SQLite store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.store.base import Store
from recollect.store.sqlite.cipher import Sealed, header_at
from recollect.store.sqlite.rekey import change_key, new_header
from recollect.store.sqlite.store import SqliteStore
from recollect.testing.stores import StoreContract


class TestSqlite(StoreContract):
    @pytest.fixture(autouse=True)
    def _vault(self, tmp_path: Path) -> Iterator[None]:
        self.path = tmp_path / "vault.db"
        self.opened: list[SqliteStore] = []
        yield
        for store in self.opened:
            problems = [finding for finding in store.examine() if finding.problem]
            store.close()
            assert problems == [], "The doctor found problems."

    def store(self) -> Store:
        store = SqliteStore(self.path)
        self.opened.append(store)
        return store


class TestLockedSqlite(TestSqlite):
    """A locked vault is a vault like any other to whoever has its key."""

    KEY = bytes(range(32))

    @pytest.fixture(autouse=True)
    def _locked(self, _vault: None) -> Iterator[None]:
        SqliteStore(self.path).close()
        change_key(self.path, None, Sealed(self.KEY, new_header(1)))
        yield
        assert header_at(self.path) is not None

    def store(self) -> Store:
        store = SqliteStore(self.path, keys=lambda path, header: self.KEY)
        self.opened.append(store)
        return store
