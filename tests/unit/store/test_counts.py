"""The counts that a vault keeps say what counting the memories says, whatever was done to them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import apsw
import pytest
from msgspec import structs

from recollect.store.base import Dates, Facets
from recollect.store.sqlite.facets import dates as store_dates
from recollect.store.sqlite.facets import facets as store_facets
from recollect.store.sqlite.filters import where
from recollect.store.sqlite.recounting import NAMES, TAGGED
from recollect.store.sqlite.store import SqliteStore
from recollect.testing.stores.helpers import save
from recollect.testing.stores.samples import CHANGE, EVERYTHING, NOON, memory
from recollect.types import Filter, Memory

PLENTY = 99
KEPT = (EVERYTHING, Filter(project="harbor"), Filter(project=""), Filter(kind="bug"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "vault.db")
    yield opened
    opened.close()


def random_memory(chance: random.Random, id: str) -> Memory:
    return memory(
        id,
        project=chance.choice(("", "harbor", "sea")),
        kind=chance.choice(("fact", "bug")),
        source=chance.choice(("", "a.md", "b.md")),
        tier=chance.choice(("core", "capture", "file")),
        tags=tuple(chance.sample(("Deep", "deep", "sea", "ÜBER", "über"), chance.randrange(4))),
        created_at=NOON - timedelta(hours=chance.randrange(99)),
        updated_at=NOON - timedelta(hours=chance.randrange(999)),
        valid_until=chance.choice((None, NOON, NOON + timedelta(days=chance.randrange(3)))),
    )


def change(store: SqliteStore, chance: random.Random) -> None:
    """Save, edit, retag, forget, restore and purge at random, several at a time."""
    with store.writing(CHANGE) as write:
        for id in chance.sample([f"m{n}" for n in range(30)], 9):
            before = write.find([id]).get(id)
            if before is None:
                write.add(random_memory(chance, id))
            elif (step := chance.randrange(5)) == 0:
                write.purge(before)
            elif step == 1 and before.forgotten:
                write.restore(before)
            elif step == 1:
                write.forget(before, NOON)
            elif step == 2:
                write.replace(before, structs.replace(before.memory, tags=("sea",)))
            else:
                write.replace(before, random_memory(chance, id))


def counted(store: SqliteStore, filter: Filter) -> tuple[Facets, Dates]:
    """What passes the filter, counted without the counts that are kept."""
    condition = where(filter, store.topics)
    return (
        store_facets(store.database, None, condition, NOON),
        store_dates(store.database, None, condition),
    )


def in_order(counts: tuple[dict[Any, int], ...]) -> list[list[object]]:
    return [[*each.items()] for each in counts]


@pytest.mark.parametrize("seed", range(3))
def test_kept_counts_say_what_counting_says(store: SqliteStore, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(12):
        change(store, chance)
        for filter in KEPT:
            facets, dates = counted(store, filter)
            assert in_order(store.memories.facets(filter, NOON)) == in_order(facets)
            assert in_order(store.memories.dates(filter)) == in_order(dates)
    live = store.memories.browse(EVERYTHING, PLENTY)
    stats = store.counts()
    assert sum(stats["kinds"].values()) == stats["memories"] == len(live)
    assert stats["forgotten"] == len(store.memories.ids(forgotten=True)) - len(live)
    assert all(not finding.problem for finding in store.examine())


def test_a_write_that_is_undone_counts_nothing(store: SqliteStore) -> None:
    save(store, memory("a", project="harbor"))
    with suppress(KeyError), store.writing(CHANGE) as write:
        write.add(memory("b", project="harbor"))
        raise KeyError
    assert store.memories.facets(EVERYTHING, NOON).project == {"harbor": 1}


def test_no_value_of_a_purged_memory_stays(store: SqliteStore) -> None:
    save(store, memory("a", project="harbor", tags=("deep",)))
    with store.writing(CHANGE) as write:
        write.purge(write.find(["a"])["a"])
    assert store.database.rows("SELECT * FROM counts") == []


@pytest.mark.parametrize("filter", KEPT)
def test_what_is_kept_is_not_counted(store: SqliteStore, filter: Filter) -> None:
    """However many memories there are, as few rows are read. Only what changed within a year in a
    project or of a kind is counted along an index."""
    steps, before = [], NOON - timedelta(days=999)
    for batch in range(2):
        made = (
            memory(f"{batch}-{n}", project="harbor", kind="bug", updated_at=before)
            for n in range(150)
        )
        save(store, *made)
        steps.append(_steps(store, filter))
    assert steps[0] == steps[1]


def _steps(store: SqliteStore, filter: Filter) -> int:
    """How many steps SQLite's machine takes for facets, days and stats, in hundreds."""
    connection = store.database.connection()
    taken = 0

    def step() -> bool:
        nonlocal taken
        taken += 1
        return False

    connection.set_progress_handler(step, 100)
    try:
        store.memories.facets(filter, NOON + timedelta(hours=1))
        store.memories.dates(filter)
        store.counts()
    finally:
        connection.set_progress_handler(None)
    return taken


def test_the_doctor_names_wrong_counts(store: SqliteStore) -> None:
    save(store, memory("a", project="harbor"), memory("b"))
    connection: apsw.Connection = store.database.connection()
    connection.execute("UPDATE counts SET memories = 7 WHERE field = 'project' AND scope = ''")
    found = [(one.check, one.problem) for one in store.examine() if one.problem]
    assert found == [("counts", "2 counts are wrong")]
    store.rebuild()
    assert not any(one.problem for one in store.examine())


def test_tags_are_counted_by_their_tables_and_not_by_an_index(store: SqliteStore) -> None:
    plans = [store.database.rows(f"EXPLAIN QUERY PLAN {sql}") for sql in (NAMES, TAGGED)]
    assert [step[3] for [step] in plans] == ["SCAN tags", "SCAN memory_tags"]
