"""The codes in memory follow their vault through growth and loss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from suites.stores.samples import CHANGE

from recollect.lifetime import Lifetime
from recollect.store import vector_codes
from recollect.store.base import VectorMatch
from recollect.store.sqlite import vector_index
from recollect.store.sqlite.store import SqliteStore
from recollect.store.vector_codes import CodedVectors
from recollect.types import Filter, Memory, Span

Floats = NDArray[np.float32]

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
MODEL = "toy"


def unit(rows: NDArray[Any]) -> Floats:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def random_clusters(count: int, width: int, seed: int = 1) -> Floats:
    """Vectors as models make them: around a few hundred subjects, all leaning the same way."""
    random = np.random.default_rng(seed)
    subjects = random.normal(size=(200, width)) + random.normal(size=width)
    spread = 0.8 * random.normal(size=(count, width))
    return unit(subjects[random.integers(0, len(subjects), count)] + spread)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "vault.db")
    yield opened
    opened.close()


@pytest.fixture(autouse=True, params=[250_000, 5])
def _large(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """From how many vectors on sign bits are scanned."""
    monkeypatch.setattr(vector_codes, "LARGE", request.param)


def name(number: int) -> str:
    return f"m{number:05}"


def add(store: SqliteStore, first: int, count: int) -> list[int]:
    """Memories with these numbers; their keys."""
    with store.writing(CHANGE) as write:
        for number in range(first, first + count):
            memory = Memory(id=name(number), title=name(number), created_at=NOW, updated_at=NOW)
            write.add(memory)
    waiting = store.vectors.waiting(MODEL, 1_000_000)
    return [one.key for one in waiting][-count:]


def put(store: SqliteStore, keys: Sequence[int], vectors: Floats) -> None:
    store.vectors.put(MODEL, vectors.shape[1], zip(keys, vectors, strict=True))


def forget(store: SqliteStore, *numbers: int) -> None:
    with store.writing(CHANGE) as write:
        found = write.find([name(number) for number in numbers])
        for one in found.values():
            write.forget(one, NOW)


def nearest(store: SqliteStore, query: Floats, limit: int = 10) -> list[VectorMatch]:
    return store.vectors.nearest(MODEL, query, limit, Filter())


def names(found: Sequence[VectorMatch]) -> list[str]:
    return [near.memory_id for near in found]


def truly(vectors: Floats, query: Floats, limit: int = 10) -> list[str]:
    cosines = vectors.astype(np.float64) @ query.astype(np.float64)
    return [name(int(place)) for place in np.argsort(-cosines, kind="stable")[:limit]]


def read_coded(store: SqliteStore) -> CodedVectors:
    """The codes in memory."""
    found = store.vectors._indexes[MODEL, 0]._coded
    assert found is not None
    return found


def test_many_small_appends_equal_one_big_load(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With hardly any room the codes are read again and again."""
    monkeypatch.setattr(vector_codes, "HEADROOM", (1.0, 20))
    monkeypatch.setattr(vector_index, "BATCH", 7)
    vectors = random_clusters(300, 64, seed=7)
    keys = add(store, 0, 300)
    query = vectors[11]
    for first in range(0, 300, 9):
        put(store, keys[first : first + 9], vectors[first : first + 9])
        assert names(nearest(store, query)) == truly(vectors[: first + 9], query)
    grown = nearest(store, query, 300)
    other = SqliteStore(tmp_path / "vault.db")
    assert nearest(other, query, 300) == grown
    other.close()


def test_a_command_keeps_no_codes(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "vault.db", lifetime=Lifetime.ONCE)
    vectors = random_clusters(300, 64, seed=15)
    put(store, add(store, 0, 300), vectors)
    assert names(nearest(store, vectors[7])) == truly(vectors, vectors[7])
    assert store.vectors._indexes == {} or vector_codes.LARGE < 300
    store.close()


def test_forgotten_memories_are_not_found(store: SqliteStore) -> None:
    vectors = random_clusters(40, 16, seed=10)
    put(store, add(store, 0, 40), vectors)
    assert names(nearest(store, vectors[5]))[0] == name(5)
    forget(store, 5)
    assert name(5) not in names(nearest(store, vectors[5], 40))
    assert len(nearest(store, vectors[5], 40)) == 39


def test_codes_are_read_again_where_much_of_what_they_propose_was_removed(
    store: SqliteStore,
) -> None:
    vectors = random_clusters(40, 16, seed=11)
    put(store, add(store, 0, 40), vectors)
    nearest(store, vectors[0])
    before = read_coded(store)
    forget(store, *range(10))
    for _ in range(2):
        assert len(nearest(store, vectors[0], 40)) == 30
    assert read_coded(store) is before, "A quarter is borne."
    forget(store, 10)
    for _ in range(2):
        assert names(nearest(store, vectors[20], 40))[0] == name(20)
    assert read_coded(store).size == 29


def test_a_search_under_way_is_not_disturbed(store: SqliteStore) -> None:
    """It keeps the rows that it began with, without later ones or codes read again."""
    vectors = random_clusters(80, 16, seed=12)
    keys = add(store, 0, 80)
    put(store, keys[:40], vectors[:40])
    nearest(store, vectors[0])
    began = read_coded(store)
    numbers, seqs = began.numbers[:40].copy(), began.seqs[:40].copy()
    put(store, keys[40:], vectors[40:])
    nearest(store, vectors[0])
    forget(store, *range(30))
    nearest(store, vectors[0])
    assert began.size == 40
    assert np.array_equal(began.numbers[:40], numbers)
    assert np.array_equal(began.seqs[:40], seqs)


def test_a_reader_of_an_earlier_moment_takes_nothing_from_others(store: SqliteStore) -> None:
    """It reads the codes of its moment; later readers still find later ones."""
    vectors = random_clusters(60, 16, seed=13)
    keys = add(store, 0, 60)
    put(store, keys[:40], vectors[:40])
    nearest(store, vectors[0])
    with ThreadPoolExecutor(1) as early, store.database.reading() as connection:
        connection.execute("SELECT 1 FROM vectors").fetchall()  # of this moment is the block
        early.submit(put, store, keys[40:], vectors[40:]).result()
        assert early.submit(nearest, store, vectors[50], 60).result()[0].memory_id == name(50)
        store.vectors.forget()
        assert len(nearest(store, vectors[50], 60)) == 40
        assert len(early.submit(nearest, store, vectors[50], 60).result()) == 60
    assert names(nearest(store, vectors[50]))[0] == name(50)


def test_a_memory_counts_once_by_its_best_passage(store: SqliteStore) -> None:
    first, second = add(store, 0, 2)
    east, north, between = unit(np.array([[1, 0, 0], [0, 1, 0], [1, 1, 0]]))
    store.vectors.put(
        MODEL,
        3,
        [(first, east), (first, north), (second, between)],
        spans=[Span(0, 10), Span(8, 20), Span(0, 5)],
    )
    best, other = nearest(store, north)
    assert (best.memory_id, best.passage, best.span) == (name(0), 2, Span(8, 20))
    assert best.score == pytest.approx(1)
    assert (other.memory_id, other.passage) == (name(1), 0)
    assert nearest(store, east)[0].passage == 1
    assert store.vectors.similarities(MODEL, north, [name(0), name(1)]) == pytest.approx(
        {name(0): 1.0, name(1): 0.5**0.5}
    )


def test_many_passages_of_one_memory_do_not_crowd_out_the_others(store: SqliteStore) -> None:
    """A hundred passages are all nearer than any other memory."""
    keys = add(store, 0, 20)
    vectors = random_clusters(120, 16, seed=14)
    query = vectors[0]
    near = unit(query + 0.01 * vectors[:100])
    crowd = [(keys[0], vector) for vector in near]
    others = list(zip(keys[1:], vectors[101:], strict=True))
    spans = [Span(0, 1)] * (len(crowd) + len(others))
    store.vectors.put(MODEL, 16, [*crowd, *others], spans=spans)
    found = nearest(store, query, 10)
    assert len(set(names(found))) == len(found) == 10
    assert names(found)[0] == name(0)
    assert len(nearest(store, query, 100)) == 20
