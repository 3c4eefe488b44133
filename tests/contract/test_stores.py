"""The store contract, held by the SQLite store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from suites.stores import StoreContract
from suites.stores.vectors import VectorContract

from examples import one_in
from recollect.lifetime import Lifetime
from recollect.store import vector_codes
from recollect.store.base import Store
from recollect.store.sqlite.replacement import change_key, new_header
from recollect.store.sqlite.store import SqliteStore
from recollect.store.sqlite.vault_files import Sealed, header_at

CONTRACT = [name for name in dir(StoreContract) if name.startswith("test_")]


class SqliteVault:
    """A vault for each test, which the doctor finds nothing wrong with in the end."""

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


class TestSqlite(SqliteVault, StoreContract):
    pass


class TestLockedSqlite(TestSqlite):
    """A locked vault behaves like any other with its key. The cipher is below SQL, so a third of
    the contract is enough."""

    KEY = bytes(range(32))

    @pytest.fixture(autouse=True)
    def _lock_vault(self, _vault: None) -> Iterator[None]:
        SqliteStore(self.path).close()
        change_key(self.path, None, Sealed(self.KEY, new_header(1)))
        yield
        assert header_at(self.path) is not None

    def store(self) -> Store:
        store = SqliteStore(self.path, keys=lambda path, header: self.KEY)
        self.opened.append(store)
        return store


for _left_out in set(CONTRACT) - set(CONTRACT[:: one_in(3)]):
    setattr(TestLockedSqlite, _left_out, None)


class TestVectorsOfACommand(SqliteVault, VectorContract):
    """A command finds the same vectors as a process that keeps their codes in memory."""

    def store(self) -> Store:
        store = SqliteStore(self.path, lifetime=Lifetime.ONCE)
        self.opened.append(store)
        return store


class TestSignBits(SqliteVault, VectorContract):
    """A vault whose vectors are found by their sign bits: here all are read, so none is missed."""

    @pytest.fixture(autouse=True)
    def _few_are_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(vector_codes, "LARGE", 1)
        monkeypatch.setattr(vector_codes, "SIGNS_READ", 10_000)
