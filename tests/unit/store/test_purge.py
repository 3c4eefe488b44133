"""Purging: nothing of a memory is left in any file of the vault."""

from __future__ import annotations

from pathlib import Path

from recollect import Recollect

OFF = {"RECOLLECT_EMBEDDING__PROVIDER": "none", "RECOLLECT_RERANK__PROVIDER": "none"}


def test_no_word_of_a_purged_memory_is_on_disk(tmp_path: Path) -> None:
    with Recollect(home=tmp_path, environment=OFF) as memory:
        memory.save(id="kept", title="harmless", tags=["common"])
        memory.save(
            id="gone", title="zanzibarword", text="quixoticword", tags=["marzipanword", "common"]
        )
        assert b"zanzibarword" in on_disk(tmp_path), "The test would find nothing at all."
        memory.forget(["gone"], purge=True)
        for word in (b"zanzibar", b"quixotic", b"marzipan"):
            assert word not in on_disk(tmp_path)
        assert [result.id for result in memory.search("harmless")] == ["kept"]
        assert not [finding for finding in memory.doctor() if finding.problem]


def test_a_new_vault_is_its_owners_alone(tmp_path: Path) -> None:
    with Recollect(home=tmp_path / "home", environment=OFF) as memory:
        memory.save(title="secret")
        for file in (tmp_path / "home").iterdir():
            assert file.stat().st_mode & 0o077 == 0, file.name
    assert (tmp_path / "home").stat().st_mode & 0o077 == 0


def on_disk(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.iterdir())
