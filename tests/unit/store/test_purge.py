"""Purging: nothing of a memory is left in any file of the vault."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import apsw
import pytest

from recollect import Recollect
from recollect.store.sqlite.memories import unscrubbed
from recollect.store.sqlite.store import SqliteStore
from recollect.store.sqlite.upkeep import scrub
from recollect.testing.stores.helpers import save
from recollect.testing.stores.samples import CHANGE, memory

OFF = {"RECOLLECT_EMBEDDING__PROVIDER": "none", "RECOLLECT_RERANK__PROVIDER": "none"}


def test_no_word_of_a_purged_memory_is_on_disk(tmp_path: Path) -> None:
    with Recollect(home=tmp_path, environment=OFF) as vault:
        vault.save(id="kept", title="harmless", tags=["common"])
        vault.save(
            id="gone", title="zanzibarword", text="quixoticword", tags=["marzipanword", "common"]
        )
        assert b"zanzibarword" in on_disk(tmp_path), "The test would find nothing at all."
        vault.forget(["gone"], purge=True)
        for word in (b"zanzibar", b"quixotic", b"marzipan"):
            assert word not in on_disk(tmp_path)
        assert [result.id for result in vault.search("harmless")] == ["kept"]
        assert not [finding for finding in vault.doctor() if finding.problem]


def test_a_purge_killed_before_its_words_were_removed_is_finished_by_the_next_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Recollect(home=tmp_path, environment=OFF) as vault:
        vault.save(id="kept", title="harmless", tags=["common"])
        vault.save(id="gone", title="zanzibarword", tags=["marzipanword", "common"])
        with monkeypatch.context() as patched:
            patched.setattr(SqliteStore, "scrub", lambda self: None)
            vault.forget(["gone"], purge=True)
        assert b"zanzibar" in on_disk(tmp_path)
    assert b"marzipan" in on_disk(tmp_path)
    with Recollect(home=tmp_path, environment=OFF) as vault:
        assert [result.id for result in vault.search("harmless")] == ["kept"]
        for word in (b"zanzibar", b"marzipan"):
            assert word not in on_disk(tmp_path)
        assert not unscrubbed(vault.store.database)


def test_what_a_reader_keeps_in_the_log_is_removed_by_the_next_command(tmp_path: Path) -> None:
    path = tmp_path / "vault.db"
    store = SqliteStore(path)
    save(store, memory("gone", title="zanzibarword"))
    with closing(apsw.Connection(str(path))) as reader:
        reader.execute("BEGIN").execute("SELECT count(*) FROM memories").fetchall()
        with store.writing(CHANGE) as write:
            write.purge(write.find(["gone"])["gone"])
        scrub(store.database, patient=False)
        assert b"zanzibar" in on_disk(tmp_path)
        SqliteStore(path).close()
        assert unscrubbed(store.database)
    SqliteStore(path).close()
    assert b"zanzibar" not in on_disk(tmp_path)
    assert not unscrubbed(store.database)
    store.close()


def test_a_new_vault_is_its_owners_alone(tmp_path: Path) -> None:
    with Recollect(home=tmp_path / "home", environment=OFF) as vault:
        vault.save(title="secret")
        for file in (tmp_path / "home").iterdir():
            assert file.stat().st_mode & 0o077 == 0, file.name
    assert (tmp_path / "home").stat().st_mode & 0o077 == 0


def on_disk(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())
