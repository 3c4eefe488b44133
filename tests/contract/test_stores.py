"""The store contract, held by the SQLite store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from suites.stores import StoreContract
from suites.stores.vectors import VectorContract

from examples import one_in
from recollect.store.base import Store
from recollect.store.sqlite import scan, vector_codes, vector_rows
from recollect.store.sqlite.cipher import Sealed, header_at
from recollect.store.sqlite.replacement import change_key, new_header
from recollect.store.sqlite.store import SqliteStore

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
    """A locked vault is a vault like any other to whoever has its key. The cipher lies below SQL,
    so that one in three of what a store must do tells."""

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


for _left_out in set(CONTRACT) - set(CONTRACT[:: one_in(3)]):
    setattr(TestLockedSqlite, _left_out, None)


class TestQuantisedVectors(SqliteVault, VectorContract):
    """Vectors are found the same way where there are too many to compare all of them."""

    # test_many_vectors.py has a large store, with chunks of the usual size.
    test_a_large_store_finds_the_nearest_too = None  # type: ignore[assignment]

    @pytest.fixture(autouse=True)
    def _few_are_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        learned = scan.learned

        def of_few(rows: NDArray[np.float32]) -> NDArray[np.float32] | None:
            """Sixteen points per pair of dimensions cannot be learned from fewer vectors."""
            return learned(np.resize(rows, (max(16, len(rows)), rows.shape[1])))

        monkeypatch.setattr(scan, "learned", of_few)
        monkeypatch.setattr(vector_rows, "EXACT_ROWS", 1)
        monkeypatch.setattr(vector_rows, "FEW_ROWS", 1)
        monkeypatch.setattr(vector_codes, "CHUNK_ROWS", 30)
        monkeypatch.setattr(vector_codes, "MOST_REMOVALS", 1)
