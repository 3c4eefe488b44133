"""Many vectors: the scan of their codes finds the nearest, also within filters, whose rows are kept
until the vault changes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray
from suites.stores.helpers import forget, nearest, put, save
from suites.stores.samples import CHANGE, EVERYTHING, MODEL, memory

from recollect.store import vector_codes
from recollect.store.sqlite.store import SqliteStore
from recollect.store.sqlite.vectors import MOST_FILTERS, SqliteVectors
from recollect.types import Filter

COUNT = 3000
OTHER_WIDTH = "toy:wide"
WIDTHS = {MODEL: 64, OTHER_WIDTH: 192}
FEW, MOST = Filter(project="few"), Filter(project="most")
IDS = [f"m{number:05}" for number in range(COUNT)]


@cache
def vectors(width: int, count: int, seed: int) -> NDArray[np.float32]:
    """Unit vectors as models make them: in clusters, and all to one side of the origin."""
    chance = np.random.default_rng(seed)
    centres = np.random.default_rng(0).standard_normal((40, width)) + 0.5
    rows = centres[chance.integers(0, 40, count)] + chance.standard_normal((count, width))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


QUERY = vectors(WIDTHS[MODEL], 1, 3)[0]


def fill_store(path: Path, ids: list[str]) -> SqliteStore:
    """Return a store of these memories; every tenth is in the project `few`."""
    store = SqliteStore(path)
    save(store, *(memory(id, project="most" if int(id[1:]) % 10 else "few") for id in ids))
    for identity, width in WIDTHS.items():
        store.vectors.begin(identity, width)
        put(store, identity, dict(zip(ids, vectors(width, COUNT, 1), strict=False)))
    return store


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    """A store that no test changes."""
    opened = fill_store(tmp_path_factory.mktemp("many") / "vault.db", IDS)
    yield opened
    opened.close()


def expected_ids(
    query: NDArray[np.float32], limit: int, ids: list[str], identity: str = MODEL
) -> list[str]:
    """Return the nearest of these memories, by plain numpy."""
    places = np.array([int(id[1:]) for id in ids])
    rows = vectors(WIDTHS[identity], COUNT, 1).astype(np.float64)
    cosines = (rows @ query.astype(np.float64))[places]
    return [IDS[place] for place in places[np.argsort(-cosines, kind="stable")[:limit]]]


@pytest.mark.parametrize("identity", WIDTHS)
@pytest.mark.parametrize(
    ("filter", "ids"),
    [
        pytest.param(EVERYTHING, IDS, id="no filter"),
        pytest.param(MOST, [id for id in IDS if id not in IDS[::10]], id="most pass"),
        pytest.param(FEW, IDS[::10], id="few pass"),
    ],
)
def test_the_nearest_of_many_are_the_nearest(
    shared: SqliteStore, identity: str, filter: Filter, ids: list[str]
) -> None:
    for query in vectors(WIDTHS[identity], 10, 2):
        for limit in (1, 10, 100, COUNT + 5):
            found = nearest(shared, query, limit, filter, identity)
            assert found == expected_ids(query, limit, ids, identity)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_rows_that_pass_are_copied_or_picked_from_a_scan_of_all(
    shared: SqliteStore, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    monkeypatch.setattr(vector_codes, "MOST_COPIED", share)
    assert nearest(shared, QUERY, 50, FEW) == expected_ids(QUERY, 50, IDS[::10])


def test_equal_vectors_among_many_are_cut_by_id(store: SqliteStore) -> None:
    twins = IDS[5::300]
    save(store, *(memory(id) for id in reversed(IDS)))
    rows = dict(zip(IDS, vectors(WIDTHS[MODEL], COUNT, 1), strict=True))
    put(store, MODEL, rows | dict.fromkeys(twins, QUERY))
    for limit in range(1, len(twins) + 1):
        assert nearest(store, QUERY, limit) == twins[:limit]
    forget(store, twins.pop(2), twins.pop(0))
    assert nearest(store, QUERY, len(twins)) == twins


@pytest.fixture
def lookups(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """One note for each time that a filter's memories are looked up."""
    notes: list[str] = []
    look_up = SqliteVectors._keys

    def note_condition(self: SqliteVectors, condition: str, values: list[str]) -> object:
        notes.append(condition)
        return look_up(self, condition, values)

    monkeypatch.setattr(SqliteVectors, "_keys", note_condition)
    return notes


def test_a_filter_is_looked_up_once_until_the_vault_changes(
    tmp_path: Path, lookups: list[str]
) -> None:
    ids = IDS[:600]  # so few that nothing is merged in the background
    store, passing = fill_store(tmp_path / "vault.db", ids), ids[::10]
    for query in (QUERY, QUERY, vectors(WIDTHS[MODEL], 1, 4)[0], QUERY):
        assert nearest(store, query, 5, FEW) == expected_ids(query, 5, passing)
    assert len(lookups) == 1
    [best] = expected_ids(QUERY, 1, passing)
    other = SqliteStore(store.database.path)  # as another process would
    with other.writing(CHANGE) as write:
        for id, project in ((best, ""), (IDS[3], "few")):
            [before] = write.find([id]).values()
            write.replace(before, replace(before.memory, project=project))
    other.close()
    passing = sorted({*passing, IDS[3]} - {best})
    for _ in range(3):
        assert nearest(store, QUERY, 5, FEW) == expected_ids(QUERY, 5, passing)
    assert len(lookups) == 2
    store.close()


def test_few_filters_are_kept(tmp_path: Path) -> None:
    store = fill_store(tmp_path / "vault.db", IDS[: MOST_FILTERS + 3])
    for id in IDS[: MOST_FILTERS + 3]:
        assert nearest(store, QUERY, 5, Filter(among=(id,))) == [id]
    assert len(store.vectors._filtered) == MOST_FILTERS
    store.close()
