"""A model with many vectors has an HNSW index, and filters hold before the cut there too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from suites.stores.helpers import forget, put, save
from suites.stores.samples import (
    EVERYTHING,
    MODEL,
    WIDTH,
    by_cosine,
    memory,
    random_vectors,
)

from recollect.types import Filter
from recollect_postgres import nearest
from recollect_postgres.merging import index_many
from recollect_postgres.store import PostgresStore

if TYPE_CHECKING:  # exists for type checkers only
    from recollect.store.base import Vector


def test_an_indexed_model_finds_the_nearest_that_pass(
    postgres_url: str, postgres_vault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nearest, "FEW_PASSING", 10)
    store = PostgresStore(postgres_url, postgres_vault)
    vectors = random_vectors([f"m{number:03}" for number in range(300)])
    some = {id: row for number, (id, row) in enumerate(vectors.items()) if number % 3}
    save(store, *(memory(id, kind="note" if id in some else "fact") for id in vectors))
    put(store, MODEL, vectors)
    index_many(store.database, 0)
    with store.database.reading() as connection:
        assert connection.execute(nearest.MODEL, (MODEL,)).fetchall()[0][-1], "It has no index."
    for query in random_vectors("ab").values():
        for filter, passing in ((EVERYTHING, vectors), (Filter(kind="note"), some)):
            with store.searching() as told:
                found = store.vectors.nearest(MODEL, query, 10, filter)
            assert [part.channel for part in told] == ["vector"]
            assert told[0].reason.startswith("approximate")
            expected = by_cosine(passing, query)[:10]
            assert [one.memory_id for one in found] == [id for id, _ in expected]
    store.close()


def test_servers_share_what_waits_and_embed_each_text_once(
    postgres_url: str, postgres_vault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stores = [PostgresStore(postgres_url, postgres_vault) for _ in range(2)]
    save(stores[0], *(memory(f"m{number:03}") for number in range(60)))
    put(stores[0], MODEL, random_vectors(["m000"]))
    embedded: list[int] = []
    took = [0, 0]

    def turn(place: int) -> bool:
        """Take a batch while the other server has taken one, too."""
        vectors = stores[place].vectors
        with vectors.lease():
            taken = [one.key for one in vectors.waiting(MODEL, 10)]
            more = turn(1 - place) if place == 0 else False
            made = random_vectors([str(key) for key in taken]).values()
            vectors.put(MODEL, WIDTH, zip(taken, made, strict=True))
        embedded.extend(taken)
        took[place] += len(taken)
        return bool(taken) or more

    while turn(0):
        pass
    assert len(embedded) == len(set(embedded)) == 59
    assert min(took) >= 20
    assert stores[1].vectors.coverage(MODEL) == (60, 60)
    # What a server saves is its own for a moment: it is just embedding it.
    save(stores[0], memory("own"))
    with stores[1].vectors.lease(), monkeypatch.context() as patch:
        patch.setattr("recollect_postgres.waiting.own_mark", lambda: "0" * 32)
        assert stores[1].vectors.waiting(MODEL, 10) == []
    assert len(stores[0].vectors.waiting(MODEL, 10, among=["own"])) == 1
    for store in stores:
        store.close()


def test_what_a_server_has_in_memory_follows_every_write(
    postgres_url: str, postgres_vault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those of another process."""
    monkeypatch.setattr(nearest, "FEWEST", 0)
    store, other = (PostgresStore(postgres_url, postgres_vault) for _ in range(2))
    ids = [f"m{number:03}" for number in range(150)]
    vectors = random_vectors(ids)
    save(
        store, *(memory(id, kind="note" if number % 3 else "fact") for number, id in enumerate(ids))
    )
    query = random_vectors("q")["q"]

    def check(expected: dict[str, Vector]) -> None:
        notes = {id: one for id, one in expected.items() if int(id[1:]) % 3}
        for filter, passing in ((EVERYTHING, expected), (Filter(kind="note"), notes)):
            near = store.vectors.nearest(MODEL, query, 10, filter)
            wanted = by_cosine(passing, query)[:10]
            assert [one.memory_id for one in near] == [id for id, _ in wanted]
            assert [one.score for one in near] == pytest.approx([cosine for _, cosine in wanted])

    first = dict(list(vectors.items())[:100])
    put(store, MODEL, first)
    check(first)  # by PostgreSQL
    store.vectors.settle()

    def refuse(*arguments: object, **more: object) -> None:
        raise AssertionError("PostgreSQL compares them.")

    monkeypatch.setattr(nearest, "_best", refuse)
    check(first)
    put(other, MODEL, vectors)  # some are replaced by the same
    check(vectors)
    best = [id for id, _ in by_cosine(vectors, query)]
    forget(other, *best[:12])
    left = {id: vectors[id] for id in best[12:]}
    check(left)
    moved = random_vectors([f"{id}-" for id in best[12:20]])
    again = {id[:-1]: one for id, one in moved.items()}
    put(other, MODEL, again)
    check(left | again)
    for one in (store, other):
        one.close()
