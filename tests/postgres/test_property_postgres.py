"""PostgreSQL answers by words as SQLite does: the same memories, in the same order, with the same
scores and counts, whatever is asked and however writes and merges have spread the memories."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from match_expressions import Expressions
from suites.stores.helpers import change, forget, save
from suites.stores.samples import memory
from test_property_packed import CLOSE, FEW_WORDS, FILTERS, INDEXES, WORDS, some_memory

from examples import examples
from recollect.store.base import COLUMNS, KeywordQuery, Store
from recollect.store.sqlite.store import SqliteStore
from recollect.types import Filter
from recollect_postgres import indexing, merging
from recollect_postgres.store import PostgresStore

Both = tuple[SqliteStore, PostgresStore]


@pytest.fixture
def both(
    tmp_path: Path, postgres_url: str, postgres_vault: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Both]:
    monkeypatch.setattr(merging, "MANY_SMALL", 6)
    monkeypatch.setattr(indexing, "MOST_SMALL", 8)
    stores = SqliteStore(tmp_path / "vault.db"), PostgresStore(postgres_url, postgres_vault)
    yield stores
    for store in stores:
        store.close()


def live_through(stores: Both, chance: random.Random) -> None:
    """Save, change and forget the same in both, some at a time; now and then PostgreSQL merges."""
    ids: list[str] = []
    for number in range(18):
        some = [some_memory(f"m{number}-{n}", chance) for n in range(chance.choice((1, 2, 12)))]
        ids += (one.id for one in some)
        changed = some_memory(chance.choice(ids), chance)
        gone = ids.pop(chance.randrange(len(ids)))
        store: Store
        for store in stores:
            save(store, *some)
            change(store, changed.id, title=changed.title, text=changed.text, tags=changed.tags)
            forget(store, gone)
        if chance.random() < 0.3:
            stores[1].database.merging.run()


@pytest.mark.parametrize("seed", range(examples(4)))
def test_both_stores_give_the_same_answer_to_any_question(both: Both, seed: int) -> None:
    chance = random.Random(seed)
    live_through(both, chance)
    sqlite, postgres = (store.keyword for store in both)
    for index in INDEXES:
        assert sqlite.terms(index, "") == postgres.terms(index, "")
        expressions = Expressions(WORDS, COLUMNS[index], seed)
        for number in range(24):
            asked = expressions.expression() if number % 4 else expressions.any_of()
            weights = {column: chance.choice((0.0, 1.0, 2.5)) for column in COLUMNS[index]}
            limit = chance.choice((1, 3, 10, 100))
            check(both, KeywordQuery(index, asked, weights, limit, chance.choice(FILTERS)))
    assert both[1].vocabulary.frequencies(WORDS) == both[0].vocabulary.frequencies(WORDS)


def check(both: Both, query: KeywordQuery) -> None:
    sqlite, postgres = (store.keyword for store in both)
    expected, found = sqlite.match(query).matches, postgres.match(query).matches
    assert [one.memory_id for one in found] == [one.memory_id for one in expected], query
    for one, other in zip(found, expected, strict=True):
        assert one.score == pytest.approx(other.score, rel=CLOSE), query
    asked = (query.index, query.expression)
    assert sqlite.statistics(*asked) == postgres.statistics(*asked), query


@pytest.mark.parametrize("seed", range(examples(12)))
def test_phrases_count_where_fts5_counts_them_though_what_they_are_part_of_fails(
    both: Both, seed: int
) -> None:
    chance = random.Random(seed)
    for number in range(24):
        texts = (" ".join(chance.choices(FEW_WORDS, k=chance.randint(0, 6))) for _ in range(2))
        one = memory(f"m{number}", title=next(texts), text=next(texts), tags=())
        for store in both:
            save(store, one)
    expressions = Expressions((*FEW_WORDS, "absent"), COLUMNS["plain"], seed)
    weights = dict.fromkeys(COLUMNS["plain"], 1.0)
    for _ in range(40):
        check(both, KeywordQuery("plain", expressions.expression(), weights, 9, Filter()))
