"""The trash: what was forgotten, by whom and why; searching it; the way back; emptying it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from recollect import Recollect
from recollect.errors import NotFound, UserError
from recollect.settings import Embedding, Rerank, Settings, TrashSettings
from recollect.types import Filter

EVERY = Filter()
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))


class Clock:
    now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Recollect]:
    with Recollect(
        tmp_path / "vault.db", home=tmp_path / "home", settings=OFF, environment={}, clock=clock
    ) as opened:
        opened.save(id="a", title="Deploys run on Jenkins", project="site")
        opened.save(id="b", title="Tides turn at noon", project="harbor")
        opened.save(id="c", title="Ships leave at noon", project="harbor")
        yield opened


def trash_ids(memory: Recollect, query: str = "", filter: Filter = EVERY) -> list[str]:
    return [each.memory.id for each in memory.trash(query, filter)]


def test_the_last_that_was_forgotten_comes_first_with_who_and_why(
    memory: Recollect, clock: Clock
) -> None:
    memory.forget(["a"])
    clock.now += timedelta(days=1)
    memory.forget(["c", "b"])
    assert trash_ids(memory) == ["b", "c", "a"]
    first = memory.trash(limit=1)[0]
    assert (first.at, first.why, first.interface) == (clock.now, "forgotten", "library")
    assert trash_ids(memory, "", Filter(project="site")) == ["a"]
    assert [each.memory.id for each in memory.trash(limit=2, after=first.place)] == ["c", "a"]


@pytest.mark.usefixtures("each_store")
def test_the_trash_is_counted_without_a_limit(memory: Recollect) -> None:
    memory.forget(["a", "b", "c"])
    for query, filter in (
        ("", EVERY), ("", Filter(project="harbor")), ("noon", EVERY), ("nothing", EVERY),
    ):  # fmt: skip
        assert memory.count_trash(query, filter) == len(trash_ids(memory, query, filter))
    assert memory.count_trash("", Filter(project="harbor")) == 2


def test_why_says_what_a_memory_was_merged_into_and_that_its_file_is_gone(
    memory: Recollect, tmp_path: Path
) -> None:
    memory.merge(["b", "c"])
    folder = tmp_path / "notes"
    folder.mkdir()
    for name in ("one", "two"):
        (folder / f"{name}.md").write_text(f"Note {name}", encoding="utf-8")
    memory.add_folder(folder)
    (folder / "one.md").unlink()
    memory.add_folder(folder)
    assert memory.remove_folder(folder, dry_run=True) == 1
    assert memory.folders()
    assert memory.remove_folder(folder) == 1
    assert {each.why for each in memory.trash()} == {
        "merged into b", "its file is gone", "its folder was removed",
    }  # fmt: skip


def test_the_trash_is_searched(memory: Recollect) -> None:
    memory.forget(["a", "b"])
    assert trash_ids(memory, "when do tides turn") == ["b"]
    assert trash_ids(memory, "ships") == []
    assert trash_ids(memory, "noon", Filter(project="site")) == []
    assert memory.select_in_trash(query="tides") == ["b"]
    assert memory.select_in_trash(filter=Filter(project="site")) == ["a"]
    with pytest.raises(UserError, match="a filter or a query"):
        memory.select_in_trash()


def test_restoring_is_all_or_none(memory: Recollect) -> None:
    memory.forget(["a", "b"])
    with pytest.raises(NotFound, match="'c'"):
        memory.restore(["a", "c"])
    assert trash_ids(memory) == ["a", "b"]
    assert [each.id for each in memory.restore(["b", "a"])] == ["b", "a"]
    assert trash_ids(memory) == []


def test_emptying_purges_what_was_forgotten_and_nothing_else(memory: Recollect) -> None:
    memory.supersede("c", "a")
    memory.forget(["a", "b"])
    assert memory.empty_trash() == 2
    assert trash_ids(memory) == []
    assert memory.show(["c"])[0].superseded_by == "", "a link to what was purged is gone"
    assert all(finding.problem is None for finding in memory.doctor())
    with pytest.raises(NotFound):
        memory.restore(["a"])


def test_what_is_too_long_in_the_trash_is_purged_by_tidy_and_by_a_server(
    memory: Recollect, clock: Clock
) -> None:
    kept = replace(OFF, trash=TrashSettings(keep=30))
    memory.session = replace(memory.session, settings=kept)
    memory.forget(["a"])
    clock.now += timedelta(days=20)
    memory.forget(["b"])
    memory.tidy()
    assert trash_ids(memory) == ["b", "a"]
    clock.now += timedelta(days=11)
    memory.tidy(dry_run=True)
    assert trash_ids(memory) == ["b", "a"]
    memory.tidy_daily()
    assert trash_ids(memory) == ["b"]
    clock.now += timedelta(days=20)
    memory.tidy()
    assert trash_ids(memory) == []


def test_without_the_setting_nothing_is_ever_purged(memory: Recollect, clock: Clock) -> None:
    memory.forget(["a"])
    clock.now += timedelta(days=30_000)
    memory.tidy()
    memory.tidy_daily()
    assert trash_ids(memory) == ["a"]
