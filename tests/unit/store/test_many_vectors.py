"""Many vectors: what the scan of their codes proposes includes the nearest."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from suites.stores.helpers import forget, nearest, put, save
from suites.stores.samples import EVERYTHING, memory

from recollect.store.sqlite.store import SqliteStore
from recollect.types import Filter

MANY = 3000
NARROW, WIDE = "toy:narrow", "toy:wide"
WIDTHS = {NARROW: 64, WIDE: 192}
MOST = Filter(project="most")


@cache
def vectors(width: int, count: int, seed: int) -> np.typing.NDArray[np.float32]:
    """Unit vectors as models make them: in clusters, and all to one side of the origin."""
    chance = np.random.default_rng(seed)
    centres = np.random.default_rng(0).standard_normal((40, width)) + 0.5
    rows = centres[chance.integers(0, 40, count)] + chance.standard_normal((count, width))
    unit: np.typing.NDArray[np.float32] = (
        rows / np.linalg.norm(rows, axis=1, keepdims=True)
    ).astype(np.float32)
    return unit


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    """Of every ten memories nine are in the project `most`."""
    opened = SqliteStore(tmp_path_factory.mktemp("many") / "vault.db")
    ids = [f"m{number:05}" for number in range(MANY)]
    projects = ["rest" if number % 10 == 0 else "most" for number in range(MANY)]
    save(opened, *(memory(id, project=name) for id, name in zip(ids, projects, strict=True)))
    for identity, width in WIDTHS.items():
        opened.vectors.begin(identity, width)
        put(opened, identity, dict(zip(ids, vectors(width, MANY, 1), strict=True)))
    yield opened
    opened.close()


def expected_ids(identity: str, query: Any, places: Any, limit: int) -> list[str]:
    """Plain numpy over the rows at these places."""
    rows = vectors(WIDTHS[identity], MANY, 1).astype(np.float64)
    cosines = (rows @ query.astype(np.float64))[places]
    return [f"m{place:05}" for place in places[np.argsort(-cosines, kind="stable")[:limit]]]


@pytest.mark.parametrize("identity", WIDTHS)
@pytest.mark.parametrize("filter", [EVERYTHING, MOST, Filter(project="rest")])
def test_the_nearest_of_many_are_the_nearest(
    store: SqliteStore, identity: str, filter: Filter
) -> None:
    everyone = np.arange(MANY)
    passing = {
        EVERYTHING.project: everyone,
        "most": everyone[everyone % 10 != 0],
        "rest": everyone[everyone % 10 == 0],
    }[filter.project]
    for query in vectors(WIDTHS[identity], 10, 2):
        for limit in (1, 10, 100):
            found = nearest(store, query, limit, filter, identity)
            assert found == expected_ids(identity, query, passing, limit)


@pytest.mark.parametrize("identity", WIDTHS)
def test_a_limit_beyond_all_that_there_are_gives_all(store: SqliteStore, identity: str) -> None:
    query = vectors(WIDTHS[identity], 1, 3)[0]
    found = nearest(store, query, MANY + 5, EVERYTHING, identity)
    assert found == expected_ids(identity, query, np.arange(MANY), MANY)


def test_equal_vectors_among_many_are_cut_by_id(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "vault.db")
    ids = [f"m{number:05}" for number in range(MANY)]
    twins = ids[5::300]
    save(store, *(memory(id) for id in reversed(ids)))
    rows = dict(zip(ids, vectors(WIDTHS[WIDE], MANY, 1), strict=True))
    query = vectors(WIDTHS[WIDE], 1, 4)[0]
    put(store, WIDE, rows | dict.fromkeys(twins, query))
    for limit in range(1, len(twins) + 1):
        assert nearest(store, query, limit, identity=WIDE) == twins[:limit]
    forget(store, twins[0], twins[2])
    left = [id for id in twins if id not in (twins[0], twins[2])]
    assert nearest(store, query, len(left), identity=WIDE) == left
    store.close()
