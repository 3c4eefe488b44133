"""Saving drafts: added, updated or left alone, and never twice."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from suites.stores.samples import CHANGE

from recollect.ingest.draft import LONG_SUFFIX, SUFFIX, make_draft, make_id
from recollect.ingest.saving import Saved, save_drafts
from recollect.store.sqlite.store import SqliteStore
from recollect.types import Filter, Memory

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LATER = NOW + timedelta(days=1)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "vault.db")
    yield opened
    assert [one for one in opened.examine() if one.problem] == []
    opened.close()


@pytest.fixture
def short_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids without letters: all memories of one title want the same."""
    monkeypatch.setattr(make_id, "__defaults__", (0,))


def save(store: SqliteStore, *raw: dict[str, object], now: datetime = NOW) -> list[Saved]:
    with store.writing(CHANGE) as write:
        return save_drafts(write, [make_draft(fields) for fields in raw], now, lambda: None)


def edit(store: SqliteStore, id: str, text: str) -> None:
    with store.writing(CHANGE) as write:
        before = write.find([id])[id]
        after = {name: getattr(before.memory, name) for name in Memory.__struct_fields__}
        write.replace(before, Memory(**{**after, "text": text}))


def list_memories(store: SqliteStore) -> dict[str, Memory]:
    return {one.id: one for one in store.memories.browse(Filter(), 1000)}


def outcomes(saved: list[Saved]) -> list[str]:
    return [one.outcome for one in saved]


def test_saving_the_same_again_makes_no_twin_and_changes_nothing(store: SqliteStore) -> None:
    rows: list[dict[str, object]] = [
        {"title": "Rotate the keys", "text": "Every ninety days.", "tags": ["ops"]},
        {"title": "Use a pool", "project": "harbor"},
        {"id": "mine", "text": "Named by hand."},
    ]
    assert outcomes(save(store, *rows)) == ["added"] * 3
    before = list_memories(store)
    assert outcomes(save(store, *rows, now=LATER)) == ["unchanged"] * 3
    assert list_memories(store) == before
    assert len(before) == 3


def test_the_same_words_of_another_project_are_another_memory(store: SqliteStore) -> None:
    save(store, {"title": "Use a pool", "project": "a"}, {"title": "Use a pool", "project": "b"})
    assert len(list_memories(store)) == 2


def test_the_same_id_updates_and_keeps_what_is_not_given(store: SqliteStore) -> None:
    save(store, {"id": "a", "title": "old", "text": "kept", "tags": ["x"], "tier": "core"})
    [saved] = save(store, {"id": "a", "title": "new", "severity": "warning"}, now=LATER)
    assert saved.outcome == "updated"
    assert list_memories(store) == {
        "a": Memory(
            id="a",
            title="new",
            text="kept",
            tags=("x",),
            tier="core",
            severity="warning",
            created_at=NOW,
            updated_at=LATER,
        )
    }


def test_null_in_an_update_keeps_what_was_there(store: SqliteStore) -> None:
    save(store, {"id": "a", "title": "x", "tags": ["t"], "valid_until": "2030-01-01"})
    again: dict[str, object] = {"id": "a", "title": "x", "tags": None, "valid_until": None}
    assert outcomes(save(store, again, now=LATER)) == ["unchanged"]


def test_new_tags_replace_the_old_ones(store: SqliteStore) -> None:
    save(store, {"id": "a", "title": "x", "tags": ["old", "both"]})
    save(store, {"id": "a", "title": "x", "tags": ["both", "new"]}, now=LATER)
    assert list_memories(store)["a"].tags == ("both", "new")
    save(store, {"id": "a", "title": "x", "tags": []}, now=LATER)
    assert list_memories(store)["a"].tags == ()


def test_the_same_id_twice_in_one_batch_adds_and_then_updates(store: SqliteStore) -> None:
    saved = save(
        store,
        {"id": "a", "title": "first", "text": "kept"},
        {"id": "a", "title": "second"},
        {"id": "a", "title": "second"},
        {"id": "a", "title": "third", "tags": ["x"]},
    )
    assert outcomes(saved) == ["added", "updated", "unchanged", "updated"]
    assert list_memories(store).keys() == {"a"}
    assert (list_memories(store)["a"].title, list_memories(store)["a"].text) == ("third", "kept")


def test_the_same_words_twice_in_one_batch_are_saved_once(store: SqliteStore) -> None:
    saved = save(store, {"title": "x", "text": "y"}, {"title": "x", "text": "y"})
    assert outcomes(saved) == ["added", "unchanged"]
    assert len({one.memory.id for one in saved}) == len(list_memories(store)) == 1


def test_a_forgotten_memory_that_is_saved_again_comes_back(store: SqliteStore) -> None:
    for row in ({"title": "Rotate the keys"}, {"id": "mine", "title": "By hand"}):
        [first] = save(store, dict(row))
        with store.writing(CHANGE) as write:
            write.forget(write.find([first.memory.id])[first.memory.id], NOW)
        assert first.memory.id not in list_memories(store)
        [again] = save(store, dict(row), now=LATER)
        assert again.outcome == "updated"
        assert list_memories(store)[first.memory.id] == first.memory


@pytest.mark.usefixtures("short_ids")
def test_memories_whose_short_ids_fall_together_are_both_kept(store: SqliteStore) -> None:
    rows: list[dict[str, object]] = [{"title": "Same", "text": f"text {n}"} for n in range(9)]
    saved = save(store, *rows[:4]) + save(store, *rows[4:])
    assert outcomes(saved) == ["added"] * 9
    assert {one.text for one in list_memories(store).values()} == {f"text {n}" for n in range(9)}
    lengths = sorted({len(id) for id in list_memories(store)})
    assert lengths == [len("same-"), len("same-") + LONG_SUFFIX]


@pytest.mark.usefixtures("short_ids")
def test_memories_whose_ids_fell_together_are_found_again(store: SqliteStore) -> None:
    rows: list[dict[str, object]] = [{"title": "Same", "text": f"text {n}"} for n in range(5)]
    save(store, *rows)
    before = list_memories(store)
    assert outcomes(save(store, *reversed(rows), now=LATER)) == ["unchanged"] * 5
    assert list_memories(store) == before


def test_a_memory_saved_again_after_an_edit_leaves_the_edited_one_alone(
    store: SqliteStore,
) -> None:
    """However often it happens: what was edited is never overwritten by what it once said."""
    row: dict[str, object] = {"title": "Deploy", "text": "on Fridays"}
    for turn in range(5):
        [saved] = save(store, row)
        assert saved.outcome == "added"
        assert outcomes(save(store, row)) == ["unchanged"]
        edit(store, saved.memory.id, f"edit {turn}")
    assert sorted(one.text for one in list_memories(store).values()) == [
        f"edit {n}" for n in range(5)
    ]
    first = make_id(row)
    assert len(first) == len("deploy-") + SUFFIX
    assert all(id.startswith(first) for id in list_memories(store))


def test_a_given_id_is_never_changed(store: SqliteStore) -> None:
    """Two memories that were given the same id are one, whatever they say."""
    save(store, {"id": "a", "title": "one"})
    save(store, {"id": "a", "title": "other", "project": "elsewhere"})
    assert list_memories(store).keys() == {"a"}
