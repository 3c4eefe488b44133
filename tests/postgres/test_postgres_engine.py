"""The engine with a vault in PostgreSQL, except saving and searching."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from recollect.engine import Recollect
from recollect.settings import Embedding, PolicySettings, Rerank, Settings, StoreSettings

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path, postgres_url: str, postgres_vault: str) -> Iterator[Recollect]:
    settings = Settings(
        embedding=Embedding(provider="none"),
        rerank=Rerank(provider="none"),
        store=StoreSettings(url=postgres_url, vault=postgres_vault),
        policies={"old": PolicySettings(what="archive", after="30d")},
    )
    home = tmp_path / "home"
    with Recollect(home=home, settings=settings, environment={}, clock=lambda: NOW) as opened:
        yield opened


def test_a_folder_is_added_follows_its_files_and_is_removed(
    memory: Recollect, tmp_path: Path
) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("tides", "boats"):
        (folder / f"{name}.md").write_text(f"# {name}\n\nAll about {name}.\n", encoding="utf-8")
    memory.add_folder(folder)
    [known] = memory.folders()
    assert {each.title for each in memory.list()} == {"tides.md", "boats.md"}
    (folder / "boats.md").unlink()
    (folder / "tides.md").write_text("# tides\n\nHigh at noon.\n", encoding="utf-8")
    memory.sync_folder(known)
    assert [each.title for each in memory.list()] == ["tides.md"]
    assert "High at noon." in memory.list()[0].text
    memory.remove_folder(folder)
    assert (memory.folders(), memory.list()) == ([], [])


def test_what_was_forgotten_stands_in_the_trash_until_it_is_emptied(memory: Recollect) -> None:
    memory.save(id="kept", title="Tides")
    memory.forget(["kept"])
    assert [each.memory.id for each in memory.trash()] == ["kept"]
    assert [each.memory.id for each in memory.trash(query="tides")] == ["kept"]
    memory.empty_trash()
    assert memory.trash() == []


def test_a_policy_puts_old_memories_aside(memory: Recollect) -> None:
    memory.save(id="old", title="Tides", created_at="2026-01-01", updated_at="2026-01-01")
    memory.save(id="new", title="Boats")
    memory.tidy()
    assert [each.id for each in memory.list()] == ["new"]


def test_what_ends_soon_is_listed(memory: Recollect) -> None:
    memory.save(id="ending", title="Tides", valid_until="2026-03-12")
    memory.save(id="over", title="Boats", valid_until="2026-03-01")
    now = memory.now()
    soon = memory.list_ending(since=now, until=now + timedelta(days=7))
    assert [each.id for each in soon] == ["ending"]
    assert [each.id for each in memory.list_ending(since=None, until=now)] == ["over"]
