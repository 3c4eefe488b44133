"""The contract of tokens, sessions and logs, held by the files of a home and by PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect.auth.access import Access
from recollect.auth.home_access import HomeAccess
from recollect.settings import StoreSettings
from recollect.store.postgres.access import PostgresAccess
from recollect.testing.access import AccessContract


class TestHome(AccessContract):
    @pytest.fixture(autouse=True)
    def _home(self, tmp_path: Path) -> Iterator[None]:
        self.home = tmp_path
        self.opened: list[Access] = []
        yield
        for access in self.opened:
            access.close()

    def access(self) -> Access:
        self.opened.append(HomeAccess(self.home))
        return self.opened[-1]


class TestPostgres(TestHome):
    @pytest.fixture(autouse=True)
    def _vault(self, postgres_url: str, postgres_vault: str) -> None:
        self.place = StoreSettings(url=postgres_url, vault=postgres_vault)

    def access(self) -> Access:
        self.opened.append(PostgresAccess(self.place))
        return self.opened[-1]
