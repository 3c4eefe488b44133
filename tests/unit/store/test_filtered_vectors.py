"""A filter that is asked for again: its rows are known, until the vault changes."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from suites.stores.samples import CHANGE

from recollect.store import vector_codes
from recollect.store.sqlite.store import SqliteStore
from recollect.store.sqlite.vectors import MOST_FILTERS, SqliteVectors
from recollect.types import Filter, Memory

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROWS, WIDTH = 600, 32
MODEL = "toy"
SOME = Filter(project="some")


def vectors(count: int = ROWS) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    rows = np.random.default_rng(3).normal(size=(count, WIDTH))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def name(number: int) -> str:
    return f"m{number:05}"


def some(number: int) -> bool:
    return number % 5 == 1


def truly(query: int, limit: int, passing: list[int]) -> list[str]:
    every = vectors()
    cosines = every[passing].astype(np.float64) @ every[query].astype(np.float64)
    return [name(passing[place]) for place in np.argsort(-cosines)[:limit].tolist()]


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    store = SqliteStore(tmp_path / "vault.db")
    with store.writing(CHANGE) as write:
        for number in range(ROWS):
            project = "some" if some(number) else ""
            write.add(Memory(id=name(number), project=project, created_at=NOW, updated_at=NOW))
    rows = store.database.rows("SELECT key FROM memories ORDER BY id")
    store.vectors.put(MODEL, WIDTH, zip([int(str(key)) for (key,) in rows], vectors(), strict=True))
    return store


def nearest(store: SqliteStore, query: int, filter: Filter = SOME, limit: int = 5) -> list[str]:
    found = store.vectors.nearest(MODEL, vectors()[query], limit, filter)
    return [near.memory_id for near in found]


@pytest.fixture
def looked_up(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A note for each time that a filter's memories were looked up."""
    notes: list[str] = []
    look_up = SqliteVectors._keys

    def note_condition(self: SqliteVectors, condition: str, values: list[str]) -> object:
        notes.append(condition)
        return look_up(self, condition, values)

    monkeypatch.setattr(SqliteVectors, "_keys", note_condition)
    return notes


def test_a_filter_is_looked_up_once_and_answers_alike(
    store: SqliteStore, looked_up: list[str]
) -> None:
    passing = [number for number in range(ROWS) if some(number)]
    for query in (3, 3, 70, 3):
        assert nearest(store, query) == truly(query, 5, passing)
    assert len(looked_up) == 1


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_rows_that_pass_are_copied_or_picked_from_a_scan_of_all(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    monkeypatch.setattr(vector_codes, "MOST_COPIED", share)
    passing = [number for number in range(ROWS) if some(number)]
    assert nearest(store, 3, limit=50) == truly(3, 50, passing)


def test_what_changes_who_passes_is_seen_at_once(store: SqliteStore, looked_up: list[str]) -> None:
    passing = [number for number in range(ROWS) if some(number)]
    nearest(store, 3)
    nearest(store, 3)
    best = int(truly(3, 1, passing)[0][1:])
    other = SqliteStore(store.database.path)  # as another process would
    with other.writing(CHANGE) as write:
        [gone] = write.find([name(best)]).values()
        write.replace(gone, replace(gone.memory, project=""))
        [came] = write.find([name(3)]).values()
        write.replace(came, replace(came.memory, project="some"))
    other.close()
    passing = sorted({*passing, 3} - {best})
    for _ in range(3):
        assert nearest(store, 3) == truly(3, 5, passing)
    assert len(looked_up) == 2


def test_few_filters_are_kept(store: SqliteStore) -> None:
    for number in range(MOST_FILTERS + 3):
        assert nearest(store, 3, Filter(among=(name(number),))) == [name(number)]
    assert len(store.vectors._filtered) == MOST_FILTERS
