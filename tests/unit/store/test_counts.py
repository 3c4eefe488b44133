"""Facets, days and stats say what counting the memories says, whatever was done to them."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from msgspec import structs
from store_fixtures import problems
from suites.stores.samples import CHANGE, EVERYTHING, NOON, memory

from recollect.store.base import AGES, Dates, Facets
from recollect.store.sqlite.memories import GROUPS
from recollect.store.sqlite.store import SqliteStore
from recollect.types import Filter, Memory

PLENTY = 99
FILTERS = (
    EVERYTHING,
    Filter(project="harbor"),
    Filter(project=""),
    Filter(kind="bug"),
    Filter(project="sea", kind="fact"),
    Filter(tier="core", tags=("deep",)),
)


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


def count_by_hand(memories: Sequence[Memory]) -> tuple[Facets, Dates]:
    """The facets and days of these memories, counted one by one."""
    topics = Counter(topic for each in memories for topic in {tag.lower() for tag in each.tags})
    used = sorted({tag for each in memories for tag in each.tags}, reverse=True)
    names = {tag.lower(): tag for tag in used}  # the first of those that differ only in case
    project, kind, source = (
        _most_first(Counter(getattr(each, field) for each in memories)) for field in GROUPS
    )
    tags = _most_first(Counter({names[topic]: count for topic, count in topics.items()}))
    age = {
        age: sum(each.updated_at >= NOON - span for each in memories) for age, span in AGES.items()
    }
    facets = Facets(project, kind, source, tags, age)
    made = Counter(each.created_at.date() for each in memories)
    expiring = Counter(each.valid_until.date() for each in memories if each.valid_until)
    return facets, Dates(dict(sorted(made.items())), dict(sorted(expiring.items())))


def _most_first(counts: Counter[str]) -> dict[str, int]:
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return {value: count for value, count in ordered if value}


def in_order(counts: tuple[dict[Any, int], ...]) -> list[list[object]]:
    return [[*each.items()] for each in counts]


@pytest.mark.parametrize("seed", range(3))
def test_groups_say_what_counting_one_by_one_says(store: SqliteStore, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(12):
        change(store, chance)
        for filter in FILTERS:
            facets, dates = count_by_hand(store.memories.browse(filter, PLENTY))
            assert in_order(store.memories.facets(filter, NOON)) == in_order(facets)
            assert in_order(store.memories.dates(filter)) == in_order(dates)
    live = store.memories.browse(EVERYTHING, PLENTY)
    stats = store.counts()
    assert live
    assert sum(stats["kinds"].values()) == stats["memories"] == len(live)
    assert stats["forgotten"] == len(store.memories.ids(forgotten=True)) - len(live)
    assert problems(store) == []
