"""Uses of memories: counted without a write, and added to the vault by another one."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from recollect.engine import Recollect
from recollect.lifetime import Lifetime
from recollect.settings import Embedding, Rerank, Settings, UsageSettings
from recollect.signals.properties import usefulness
from recollect.store.sqlite import feedback, vault_files
from recollect.types import Use, recompute

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))


def open_vault(
    folder: Path, settings: Settings = OFF, *, lifetime: Lifetime = Lifetime.LIBRARY
) -> Recollect:
    return Recollect(
        folder / "vault.db",
        home=folder,
        settings=settings,
        environment={},
        clock=lambda: NOW,
        lifetime=lifetime,
    )


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    with open_vault(tmp_path) as memory:
        memory.save(id="anchor", title="The anchor is under the bow")
        memory.save(id="sail", title="Sails dry below deck")
    return tmp_path


def rows(memory: Recollect) -> list[tuple[object, ...]]:
    found: list[tuple[object, ...]] = memory.store.database.rows("SELECT * FROM usage")
    return found


def test_a_search_counts_what_it_returned_and_writes_nothing(vault: Path) -> None:
    with open_vault(vault, lifetime=Lifetime.ONCE) as memory:
        file, version = vault / "vault.db", memory.store.database.rows("PRAGMA data_version")
        before = file.read_bytes()
        memory.search("anchor")
        memory.show(["anchor"])
        assert memory.usage(["anchor", "sail"]) == {"anchor": Use(1, 1, 0, NOW)}
        assert rows(memory) == []
        assert memory.store.database.rows("PRAGMA data_version") == version
    assert file.read_bytes() == before


def test_the_file_beside_the_vault_holds_numbers_alone(vault: Path) -> None:
    with open_vault(vault, lifetime=Lifetime.ONCE) as memory:
        memory.search("anchor")
    spool = vault / f"vault.db{vault_files.SPOOLS[0]}"
    assert len(spool.read_bytes()) == feedback.RECORD.size
    assert spool.stat().st_mode & 0o777 == 0o600
    with open_vault(vault, lifetime=Lifetime.ONCE) as memory:  # the next process sees it
        assert memory.usage(["anchor"]) == {"anchor": Use(1, 0, 0, NOW)}


def test_the_next_write_takes_the_counts_into_the_vault(vault: Path) -> None:
    for _ in range(3):
        with open_vault(vault, lifetime=Lifetime.ONCE) as memory:
            memory.search("anchor")
    with open_vault(vault) as memory:
        memory.save(title="Something else entirely")
        assert [row[1:4] for row in rows(memory)] == [(3, 0, 0)]
        assert not (vault / f"vault.db{vault_files.SPOOLS[0]}").exists()
        assert memory.usage(["anchor"]) == {"anchor": Use(3, 0, 0, NOW)}


def test_a_process_that_stays_writes_at_most_once_a_minute(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_vault(vault, lifetime=Lifetime.SERVER) as memory:
        writes: list[int] = []
        fold = memory.store.usage.fold
        done = threading.Event()

        def count_uses() -> None:
            fold()
            writes.append(1)
            done.set()

        monkeypatch.setattr(memory.store.usage, "fold", count_uses)
        memory.search("anchor")
        assert done.wait(60)
        for _ in range(50):
            memory.search("anchor")
        assert len(writes) == 1
        assert memory.usage(["anchor"]) == {"anchor": Use(51, 0, 0, NOW)}


def test_an_acceptance_counts_once_and_can_be_taken_back(vault: Path) -> None:
    with open_vault(vault) as memory:
        for accept in (True, True):
            memory.feedback("where is the anchor", "anchor", accept=accept)
        memory.feedback("where are the sails", "anchor", accept=False)
        assert memory.usage(["anchor"])["anchor"].accepted == 1
        memory.feedback("where is the anchor", "anchor", undo=True)
        assert memory.usage(["anchor"])["anchor"].accepted == 0


def test_what_asks_for_memories_by_itself_opens_none(vault: Path) -> None:
    with open_vault(vault) as memory:
        memory.list(after="anchor")
        memory.related("anchor")
        memory.feedback("anchor", "anchor", accept=False)
        assert memory.usage(["anchor"]) == {}


def test_nothing_is_counted_where_the_settings_say_so(vault: Path) -> None:
    off = Settings(embedding=OFF.embedding, rerank=OFF.rerank, usage=UsageSettings(keep=False))
    with open_vault(vault, off) as memory:
        memory.search("anchor")
        assert memory.usage(["anchor"]) == {}
        assert "used" not in memory.stats()
    assert not (vault / f"vault.db{vault_files.SPOOLS[0]}").exists()


def test_stats_tell_how_often_memories_were_of_use(vault: Path) -> None:
    with open_vault(vault) as memory:
        memory.search("anchor")
        memory.save(title="A write that takes it into the vault")
        memory.show(["sail"])
        used = {"memories": 2, "returned": 1, "opened": 1, "accepted": 0}
        assert memory.stats()["used"] == used


def test_a_purged_memory_leaves_no_count(vault: Path) -> None:
    with open_vault(vault) as memory:
        memory.search("anchor")
        memory.save(title="A write that takes it into the vault")
        memory.forget(["anchor"], purge=True)
        assert rows(memory) == []


def test_a_record_that_was_cut_short_is_left_out(vault: Path) -> None:
    spool = vault / f"vault.db{vault_files.SPOOLS[0]}"
    spool.write_bytes(feedback.RECORD.pack(4, 5) + b"\x01\x02")
    with open_vault(vault) as memory:
        assert memory.usage(["anchor"])["anchor"].returned == 1


def test_use_saturates_and_an_acceptance_counts_most() -> None:
    assert usefulness(Use(0, 0, 0, NOW)) == 0
    assert usefulness(Use(0, 5, 0, NOW)) == 0.5
    assert usefulness(Use(9, 1, 0, NOW)) < usefulness(Use(0, 0, 1, NOW)) < 1


def test_use_is_off_in_the_recipes_and_a_recipe_can_switch_it_on(vault: Path) -> None:
    with open_vault(vault) as memory:
        memory.save(id="chain", title="The anchor chain is new")
        for _ in range(3):
            memory.show(["chain"])
        [first, second] = memory.search("anchor").results
        assert (first.id, second.id) == ("anchor", "chain")
        assert not any(
            term.name == "used" for hit in (first, second) for term in hit.explain.leaves()
        )
        on = memory.search("anchor", changes={"stages.bonus.signals.used.weight": 5.0})
        assert on.results[0].id == "chain"
        [why] = [term for term in on.results[0].explain.leaves() if term.name == "used"]
        assert why.how == "returned 1, opened 3, accepted 0 times"
        assert recompute(on.results[0].explain) == on.results[0].score
