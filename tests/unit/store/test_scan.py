"""The scan proposes the true nearest, and the matrix follows its vault through growth and loss."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from suites.stores.samples import CHANGE

from recollect.lifetime import Lifetime
from recollect.store.base import VectorMatch
from recollect.store.sqlite import vector_rows
from recollect.store.sqlite.matrix import Matrix
from recollect.store.sqlite.scan import Codes, codes, learned
from recollect.store.sqlite.store import SqliteStore
from recollect.types import Filter, Memory, Span

Floats = NDArray[np.float32]

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
ROWS, WIDTH, QUERIES = 20_000, 384, 50
MODEL = "toy"


def unit(rows: NDArray[Any]) -> Floats:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def clustered(count: int, width: int, seed: int = 1) -> Floats:
    """Vectors as models make them: around a few hundred subjects, all leaning the same way."""
    random = np.random.default_rng(seed)
    subjects = random.normal(size=(200, width)) + random.normal(size=width)
    spread = 0.8 * random.normal(size=(count, width))
    return unit(subjects[random.integers(0, len(subjects), count)] + spread)


@pytest.fixture(scope="module")
def rows() -> Floats:
    return clustered(ROWS, WIDTH)


def coded(rows: Floats) -> Codes:
    points = learned(rows)
    assert points is not None, "faiss has a wheel wherever the tests run."
    made = codes(rows.shape[1], points)
    assert made is not None
    made.add(rows)
    return made


@pytest.fixture(scope="module")
def queries(rows: Floats) -> Floats:
    """Each somewhere near a row."""
    random = np.random.default_rng(2)
    near = rows[random.integers(0, ROWS, QUERIES)]
    return unit(near + random.normal(size=near.shape) / np.sqrt(WIDTH) / 2)


def recall(made: Codes, rows: Floats, queries: Floats) -> float:
    """The share of the ten truly nearest that are among the proposed."""
    held = 0
    for query in queries:
        true = np.argsort(-(rows @ query))[:10]
        found = made.proposed(query, vector_rows.WIDE)
        assert len(set(found.tolist())) == len(found) < len(rows) / 10
        held += len(set(true.tolist()) & set(found.tolist()))
    return held / (10 * len(queries))


def test_the_proposed_hold_the_true_nearest(rows: Floats, queries: Floats) -> None:
    assert recall(coded(rows), rows, queries) >= 0.99


def test_rows_that_came_after_the_codes_were_learned_are_found_as_well(
    rows: Floats, queries: Floats
) -> None:
    made = coded(rows[:5000])
    for first in range(5000, ROWS, 700):
        made.add(rows[first : first + 700])
    assert recall(made, rows, queries[:20]) >= 0.99


def test_packed_codes_go_on_where_they_were_packed(rows: Floats, queries: Floats) -> None:
    """Codes of whole blocks, taken over in parts and added to, answer as codes made in one go."""
    points = learned(rows[:500])
    assert points is not None
    whole, first, second, taken = (codes(WIDTH, points) for _ in range(4))
    assert whole is not None
    assert first is not None
    assert second is not None
    assert taken is not None
    whole.add(rows[:300])
    first.add(rows[:96])
    second.add(rows[96:256])
    parts = [first.packed(), second.packed()]
    taken.take(parts, sum(map(len, parts)))
    taken.add(rows[256:300])
    assert np.array_equal(taken.decoded(range(300)), whole.decoded(range(300)))
    for query in queries:
        assert {*taken.proposed(query, 300).tolist()} == set(range(300))
        assert taken.proposed(query, 1).tolist() == whole.proposed(query, 1).tolist()


def test_no_more_are_proposed_than_there_are(rows: Floats) -> None:
    few = coded(rows[:300])
    assert sorted(few.proposed(rows[0], 1000).tolist()) == list(range(300))


def test_without_faiss_and_for_odd_dimensions_there_are_no_codes(
    rows: Floats, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert learned(rows[:500, :383].copy()) is None
    points = learned(rows[:500])
    assert points is not None
    monkeypatch.setitem(sys.modules, "faiss", None)
    assert learned(rows[:500]) is None
    assert codes(WIDTH, points) is None


# The matrix


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    held = SqliteStore(tmp_path / "vault.db")
    yield held
    held.close()


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


def held(store: SqliteStore) -> Matrix:
    matrix = store.vectors._matrices[MODEL, 0]
    assert isinstance(matrix, Matrix)
    return matrix


def test_many_small_appends_equal_one_big_load(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With hardly any headroom the arrays grow again and again."""
    monkeypatch.setattr(vector_rows, "READ_ROWS", 7)
    monkeypatch.setattr(vector_rows, "HEADROOM", 1.0)
    vectors = clustered(300, 64, seed=7)
    keys = add(store, 0, 300)
    query = vectors[11]
    for first in range(0, 300, 9):
        put(store, keys[first : first + 9], vectors[first : first + 9])
        assert names(nearest(store, query)) == truly(vectors[: first + 9], query)
    grown = nearest(store, query, 300)
    other = SqliteStore(tmp_path / "vault.db")
    assert nearest(other, query, 300) == grown
    other.close()


def test_a_matrix_larger_than_the_exact_scan_finds_the_true_nearest(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_rows, "EXACT_ROWS", 1000)
    count = 3000
    vectors = clustered(count, 128, seed=8)
    keys = add(store, 0, count)
    put(store, keys[:100], vectors[:100])
    nearest(store, vectors[0])
    put(store, keys[100:], vectors[100:])
    for place in (0, 99, 100, 1000, 2500, count - 1):
        assert names(nearest(store, vectors[place])) == truly(vectors, vectors[place])
    stored = held(store)._stored
    assert stored is not None
    assert stored.codes is not None
    assert not stored.vectors.size, "The vectors are read from the vault."
    forget(store, 2500)
    rest = vectors.copy()
    rest[2500] = -vectors[2500]
    assert names(nearest(store, vectors[2500])) == truly(rest, vectors[2500])


def test_a_process_that_asks_once_makes_no_codes_that_the_vault_has_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_rows, "EXACT_ROWS", 100)
    store = SqliteStore(tmp_path / "vault.db", lifetime=Lifetime.ONCE)
    vectors = clustered(300, 64, seed=15)
    put(store, add(store, 0, 300), vectors)
    with store.database.writing() as connection:
        connection.execute("DELETE FROM codebooks")
    assert names(nearest(store, vectors[7])) == truly(vectors, vectors[7])
    stored = held(store)._stored
    assert stored is not None
    assert stored.codes is None
    store.close()


def test_a_filter_that_passes_few_is_answered_exactly(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_rows, "EXACT_ROWS", 1000)
    count = 1500
    vectors = clustered(count, 128, seed=9)
    put(store, keys := add(store, 0, count), vectors)
    nearest(store, vectors[0])
    few = held(store).passing(np.array(keys[::50]), ())
    connection = store.database.connection()
    found = held(store).nearest(connection, vectors[3], 5, few)
    cosines = vectors[::50].astype(np.float64) @ vectors[3].astype(np.float64)
    best = np.sort(cosines)[::-1][:5]
    assert [near.score for near in found] == pytest.approx(best.tolist(), abs=1e-6)
    others = held(store).passing(None, np.array([keys[3]]))
    without = held(store).nearest(connection, vectors[3], 5, others)
    assert name(3) not in names(without)
    assert len(without) == 5


def test_forgotten_memories_are_not_found(store: SqliteStore) -> None:
    vectors = clustered(40, 16, seed=10)
    put(store, add(store, 0, 40), vectors)
    assert names(nearest(store, vectors[5]))[0] == name(5)
    forget(store, 5)
    assert name(5) not in names(nearest(store, vectors[5], 40))
    assert len(nearest(store, vectors[5], 40)) == 39


def test_removing_over_a_quarter_begins_the_arrays_anew(store: SqliteStore) -> None:
    vectors = clustered(40, 16, seed=11)
    put(store, add(store, 0, 40), vectors)
    nearest(store, vectors[0])
    before = held(store)._stored
    assert before is not None
    forget(store, *range(10))
    assert len(nearest(store, vectors[0], 40)) == 30
    kept = held(store)._stored
    assert kept is not None
    assert kept.vectors is before.vectors, "A quarter is borne."
    forget(store, 10)
    assert names(nearest(store, vectors[20], 40))[0] == name(20)
    anew = held(store)._stored
    assert anew is not None
    assert anew.vectors is not before.vectors
    assert anew.size == 29


def test_a_search_under_way_is_not_disturbed(store: SqliteStore) -> None:
    """What it began with stays: rows that come after, and arrays made anew, are not its own."""
    vectors = clustered(80, 16, seed=12)
    keys = add(store, 0, 80)
    put(store, keys[:40], vectors[:40])
    nearest(store, vectors[0])
    began = held(store)._stored
    assert began is not None
    rows, seqs = began.vectors[:40].copy(), began.seqs[:40].copy()
    put(store, keys[40:], vectors[40:])
    nearest(store, vectors[0])
    forget(store, *range(30))
    nearest(store, vectors[0])
    assert began.size == 40
    assert np.array_equal(began.vectors[:40], rows)
    assert np.array_equal(began.seqs[:40], seqs)


def test_a_removal_seen_by_a_search_under_way_is_never_returned(store: SqliteStore) -> None:
    """The arrays may be made anew, with no row removed, while it reads the old ones."""
    vectors = clustered(40, 16, seed=13)
    put(store, add(store, 0, 40), vectors)
    nearest(store, vectors[0])
    began = held(store)._stored
    assert began is not None
    forget(store, *range(20))
    nearest(store, vectors[0])
    passing = np.flatnonzero(vector_rows.passing(began, None, ()).mask)
    assert passing.tolist() == list(range(20, 40))


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
    vectors = clustered(120, 16, seed=14)
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
