"""A disk that fills up: the save says so, nothing half-written stays, and later saves go on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from own_disk import own_disk
from store_fixtures import OpenStore, problems
from suites.stores.helpers import matches, nearest, put, save
from suites.stores.samples import EVERYTHING, MODEL, axis, memory

from recollect.engine import Recollect
from recollect.errors import StoreError
from recollect.store.sqlite.store import SqliteStore

MOST = 2000
OFF = {"RECOLLECT_EMBEDDING__PROVIDER": "none", "RECOLLECT_RERANK__PROVIDER": "none"}


def save_until_full(store: SqliteStore) -> tuple[list[str], str]:
    """The ids that were saved, and how the first save that failed said so."""
    saved: list[str] = []
    for number in range(MOST):
        id = f"m{number:04}"
        try:
            save(store, memory(id, text=f"anchor word{number} " * 200, tags=(f"t{number}",)))
            put(store, MODEL, {id: axis(number % 20)})
        except StoreError as error:
            return saved, str(error)
        saved.append(id)
    raise AssertionError("The disk never filled up.")


def check_nothing_half_written(store: SqliteStore, saved: list[str]) -> None:
    """All that was acknowledged is there; of the last save there is its memory or nothing."""
    held = [one.id for one in store.memories.browse(EVERYTHING, MOST)]
    assert set(saved) <= set(held)
    assert len(held) <= len(saved) + 1
    found = {*matches(store, "anchor", limit=MOST), *matches(store, "lighthouse")}
    assert found == set(held)
    assert {id for id in saved if id != "later"} <= set(nearest(store, axis(0), MOST))
    assert problems(store) == []


def test_a_file_that_may_not_grow_keeps_what_it_had(open_store: OpenStore, tmp_path: Path) -> None:
    path = tmp_path / "vault.db"
    store = open_store(path)
    connection = store.database.connection()
    connection.execute("PRAGMA max_page_count = 150")
    saved, message = save_until_full(store)
    assert message == f"The disk that holds {path} is full; nothing of this write was kept."
    assert len(saved) > 5
    check_nothing_half_written(store, saved)
    with pytest.raises(StoreError, match="full"):
        save(store, *(memory(f"batch{n}", text="lighthouse " * 500) for n in range(50)))
    assert matches(store, "lighthouse") == [], "A batch is saved whole or not at all."
    connection.execute("PRAGMA max_page_count = 100000")
    save(store, memory("later", text="lighthouse"))
    assert matches(store, "lighthouse") == ["later"]
    check_nothing_half_written(store, [*saved, "later"])


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    with own_disk(folder, 2) as disk:
        yield disk


@pytest.mark.own_segments  # fewer memories would fit with their segments
def test_a_full_disk_loses_nothing_that_was_saved(small_disk: Path, open_store: OpenStore) -> None:
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * 500_000)
    path = small_disk / "vault.db"
    store = open_store(path)
    saved, message = save_until_full(store)
    assert message.startswith(f"The disk that holds {path} is full"), message
    assert len(saved) > 5
    check_nothing_half_written(store, saved)
    store.close()
    store = open_store(path)
    check_nothing_half_written(store, saved)
    filler.unlink()
    save(store, memory("later", text="lighthouse"))
    assert matches(store, "lighthouse") == ["later"]
    check_nothing_half_written(store, [*saved, "later"])


def test_a_purge_on_a_full_disk_is_finished_when_there_is_room(
    small_disk: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with Recollect(home=small_disk, environment=OFF) as vault:
        vault.save(id="gone", title="zanzibarword")
        vault.save(id="kept", title="harmless", text="word " * 40_000)
        room = os.statvfs(small_disk)
        (small_disk / "filler").write_bytes(bytes((room.f_bavail - 60) * room.f_frsize))
        vault.forget(["gone"], purge=True)
        assert "Words of purged memories stay in the file" in caplog.text
        assert [result.id for result in vault.search("harmless")] == ["kept"]
    (small_disk / "filler").unlink()
    with Recollect(home=small_disk, environment=OFF) as vault:
        assert [one for one in vault.doctor() if one.problem] == []
    assert b"zanzibar" not in (small_disk / "vault.db").read_bytes()


def test_no_vault_is_made_on_a_full_disk(small_disk: Path, open_store: OpenStore) -> None:
    filler = small_disk / "filler"
    with pytest.raises(OSError, match="No space"):
        filler.write_bytes(b"x" * 4_000_000)
    path = small_disk / "vault.db"
    with pytest.raises(StoreError) as caught:
        SqliteStore(path)
    assert str(path) in str(caught.value)
    filler.unlink()
    store = open_store(path)
    save(store, memory("later", text="lighthouse"))
    assert matches(store, "lighthouse") == ["later"]


def test_a_backup_onto_a_full_disk_leaves_nothing_there(small_disk: Path, tmp_path: Path) -> None:
    (small_disk / "filler").write_bytes(b"x" * 1_950_000)
    with Recollect(tmp_path / "vault.db", home=tmp_path) as vault:
        with pytest.raises(StoreError, match=r"new\.db cannot be written: .* full"):
            vault.backup(small_disk / "new.db")
        assert [file.name for file in small_disk.iterdir()] == ["filler"]
        (small_disk / "filler").unlink()
        assert vault.backup(small_disk / "new.db").holds.memories == 0
