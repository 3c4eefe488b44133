"""The timeline around a memory or a time, and lists by recency."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.engine.browsing import Timeline
from recollect.errors import NotFound, UserError
from recollect.settings import Embedding, Rerank, Settings
from recollect.types import Filter, place_of

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))


def day(number: int) -> str:
    return f"2026-03-{number:02}"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Recollect]:
    with Recollect(
        tmp_path / "vault.db", home=tmp_path, settings=OFF, environment={}, clock=lambda: NOW
    ) as opened:
        for number in range(1, 8):
            place = "site" if number % 2 else "shop"
            opened.save(
                id=f"m{number}", title=f"Memory {number}", project=place,
                created_at=day(number), updated_at=day(number),
                tier="core" if number == 2 else "capture",
            )  # fmt: skip
        opened.edit("m1", text="Later.", updated_at="2026-03-05T06:00:00Z")
        yield opened


def ids_of(found: Timeline) -> tuple[list[str], list[str]]:
    sides = (found.before, found.after)
    before, after = ([f"{entry.what} {entry.memory.id}" for entry in side] for side in sides)
    return before, after


def test_a_memory_stands_between_what_was_saved_and_changed_before_and_after(
    memory: Recollect,
) -> None:
    found = memory.timeline("m4", limit=2)
    assert found.around is not None
    assert (found.around.id, found.at.day) == ("m4", 4)
    assert ids_of(found) == (["saved m2", "saved m3"], ["saved m5", "changed m1"])


def test_a_moment_may_be_a_time_in_words_and_a_filter_holds(memory: Recollect) -> None:
    found = memory.timeline("2026-03-04", limit=9, filter=Filter(project="shop"))
    assert found.around is None
    assert ids_of(found) == (["saved m2", "saved m4"], ["saved m6"])
    assert ids_of(memory.timeline("5d", limit=1)) == (["changed m1"], ["saved m6"])
    assert ids_of(memory.timeline(NOW)) == (
        ["saved m4", "saved m5", "changed m1", "saved m6", "saved m7"], [],
    )  # fmt: skip


def test_later_changes_of_the_memory_itself_are_told(memory: Recollect) -> None:
    assert ids_of(memory.timeline("m1", limit=9))[1][-3:] == ["changed m1", "saved m6", "saved m7"]


def test_of_many_saved_in_one_moment_as_many_as_asked_for_are_told(memory: Recollect) -> None:
    for number in range(5):
        memory.save(id=f"same{number}", title=f"Same {number}", created_at=day(4))
    before, after = ids_of(memory.timeline("same2", limit=3))
    assert len(before) == 3
    assert "saved same2" not in before
    assert after[0] == "saved m5"


def test_what_was_forgotten_is_left_out_and_what_was_merged_is_answered_with_its_memory(
    memory: Recollect,
) -> None:
    memory.forget(["m3"])
    memory.merge(["m5", "m6"])
    assert "saved m3" not in ids_of(memory.timeline("m4"))[0]
    found = memory.timeline("m6").around
    assert found is not None
    assert found.id == "m5"


def test_what_is_neither_an_id_nor_a_time_is_refused(memory: Recollect) -> None:
    with pytest.raises(NotFound, match="'nobody' is neither a memory nor a time"):
        memory.timeline("nobody")
    with pytest.raises(UserError, match="limit must be at least 1"):
        memory.timeline("m4", limit=0)


def test_a_list_by_recency_is_paged_without_gaps_whatever_the_tier(memory: Recollect) -> None:
    newest = [each.id for each in memory.list(limit=50, newest=True)]
    assert newest == ["m7", "m6", "m1", "m5", "m4", "m3", "m2"]
    assert memory.list()[0].id == "m2", "Without it, core memories come first."
    pages, after = [], None
    while page := memory.list(limit=2, after=after, newest=True):
        pages += [each.id for each in page]
        after = place_of(page[-1])
    assert pages == newest
    site = memory.list(Filter(project="site"), 2, "m7", newest=True)
    assert [each.id for each in site] == ["m1", "m5"]
    then = NOW + timedelta(0)
    assert [each.id for each in memory.list(limit=3, newest=True, as_of=then)] == newest[:3]
