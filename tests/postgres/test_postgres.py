"""The store contract, held by the PostgreSQL store."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from suites.stores import StoreContract

from recollect.store.base import Store
from recollect_postgres.store import PostgresStore


class TestPostgres(StoreContract):
    """A vault for each test."""

    @pytest.fixture(autouse=True)
    def _vault(self, postgres_url: str, postgres_vault: str) -> Iterator[None]:
        self.place = (postgres_url, postgres_vault)
        self.opened: list[PostgresStore] = []
        yield
        for store in self.opened:
            store.close()

    def store(self) -> Store:
        store = PostgresStore(*self.place)
        self.opened.append(store)
        return store
