"""A page of a list costs the same wherever it begins, and pages together are the whole list."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta

import apsw
import pytest
from store_fixtures import OpenStore
from suites.stores.helpers import save
from suites.stores.samples import EVERYTHING, NOON, memory

from recollect.store.memory_rows import TIERS
from recollect.store.sqlite.store import SqliteStore
from recollect.types import Filter, Memory, place_of

COUNT = 400
PAGE = 10
FILTERS = (
    EVERYTHING,
    Filter(project="harbor"),
    Filter(kind="fact"),
    Filter(space="home"),
    Filter(project="harbor", kind="fact"),
    Filter(source="log"),
    Filter(tags=("deep",)),
    Filter(tier="capture"),
    Filter(since=NOON - timedelta(days=99)),
    Filter(until=NOON),
    Filter(made_since=NOON - timedelta(days=99)),
    Filter(valid_at=NOON),
    Filter(without_kinds=("bug",)),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path_factory.mktemp("vault") / "vault.db")
    chance = random.Random(1)
    made = [
        memory(
            f"m{n}",
            project="harbor",
            space="home",
            source="log",
            tags=("deep", "rare") if n % 40 == 0 else ("deep",),
            tier=TIERS[chance.choice((0, 1, 1, 1, 1, 2))],
            updated_at=NOON - timedelta(minutes=chance.randrange(90)),
        )
        for n in range(COUNT)
    ]
    save(opened, *made)
    yield opened
    opened.close()


def pages(store: SqliteStore, filter: Filter) -> Iterator[list[Memory]]:
    page = store.memories.browse(filter, PAGE)
    while page:
        yield page
        page = store.memories.browse(filter, PAGE, place_of(page[-1]))


def in_order(memories: list[Memory]) -> list[Memory]:
    newest = sorted(memories, key=lambda one: (-one.updated_at.timestamp(), one.id))
    return sorted(newest, key=lambda one: TIERS.index(one.tier))


@pytest.mark.parametrize("filter", [*FILTERS, Filter(tags=("rare",)), Filter(among=("m1", "m2"))])
@pytest.mark.parametrize("few", [0, 10_000])
def test_pages_together_are_the_list(
    store: SqliteStore, filter: Filter, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.store.sqlite.memories.FEW", few)
    found = [one for page in pages(store, filter) for one in page]
    every = store.memories.browse(filter, 2 * COUNT)
    assert found == every == in_order(every)
    newest = sorted(every, key=lambda one: (-one.updated_at.timestamp(), one.id))
    assert store.memories.newest(filter, PAGE) == newest[:PAGE]


@pytest.mark.parametrize("filter", FILTERS)
def test_a_page_costs_the_same_at_any_depth(
    store: SqliteStore, filter: Filter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.store.sqlite.memories.FEW", 0)
    connection = store.database.connection()
    steps: list[int] = [0]

    def step() -> bool:
        steps[-1] += 1
        return False

    connection.set_progress_handler(step, 100)
    try:
        for page in pages(store, filter):
            steps.append(0)
            last = page
    finally:
        connection.set_progress_handler(None)
    assert len(last) <= PAGE
    assert max(steps) <= 2 * steps[0] + 5, steps


def test_of_two_filters_the_narrower_chooses_the_index(open_store: OpenStore) -> None:
    store = open_store()
    made = (memory(f"m{n}", project="small" if n < 3 else "large") for n in range(40))
    save(store, *made)
    asked: list[str] = []
    connection = store.database.connection()

    def note(cursor: apsw.Cursor, sql: str, values: apsw.Bindings | None) -> bool:
        asked.append(sql)
        return True

    connection.exec_trace = note
    store.memories.browse(Filter(project="small", kind="fact"), PAGE)
    store.memories.browse(Filter(project="large", kind="bug"), PAGE)
    connection.exec_trace = None
    read = [sql for sql in asked if "FROM memories m" in sql]
    assert ["+m.kind" in sql for sql in read] == [True] * 3 + [False] * 3
    assert ["+m.project" in sql for sql in read] == [False] * 3 + [True] * 3
