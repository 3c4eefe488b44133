"""`store.url` names by its scheme what opens the vault; without one it is a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.auth.access import HomeAccess
from recollect.errors import UserError
from recollect.lifetime import Lifetime
from recollect.settings import StoreSettings
from recollect.store import registry
from recollect.store.registry import open_access_at, open_store_at, store_type
from recollect.store.sqlite.store import SqliteStore


def test_without_a_url_the_vault_is_a_file(tmp_path: Path) -> None:
    place = StoreSettings()
    store = open_store_at(
        tmp_path / "vault.db",
        place,
        lifetime=Lifetime.LIBRARY,
        keys=lambda path, header: b"",
        at_rest=False,
    )
    assert isinstance(store, SqliteStore)
    store.close()
    access = open_access_at(tmp_path, place)
    assert isinstance(access, HomeAccess)
    access.close()


@pytest.mark.parametrize("scheme", ["postgres", "postgresql"])
def test_both_schemes_of_postgresql_are_known(scheme: str) -> None:
    assert callable(store_type(f"{scheme}://host/database").open_store)


@pytest.mark.parametrize(
    "url", ["mysql://me:hush@host/memories", "host=db password=hush", "hush", "/srv/hush.db"]
)
def test_another_address_is_refused_without_being_quoted(url: str) -> None:
    with pytest.raises(UserError) as refused:
        store_type(url)
    assert "one of these: postgres://, postgresql://." in str(refused.value)
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize("url", ["postgresql://me:hush@host/memories", "postgres://hush"])
def test_a_missing_package_is_named(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "entry_points_of", lambda group: {})
    with pytest.raises(UserError) as refused:
        store_type(url)
    assert "pip install 'recollect-memory[postgres]'" in str(refused.value)
    assert "hush" not in str(refused.value)
