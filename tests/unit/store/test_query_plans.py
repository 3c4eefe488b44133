"""SQLite answers the queries of every search and save by index, never by reading all."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import apsw
import pytest
from store_fixtures import OpenStore
from suites.stores.helpers import match, put, save
from suites.stores.samples import CHANGE, EVERYTHING, MODEL, NOON, axis, memory

from recollect.store.sqlite.store import SqliteStore
from recollect.types import Filter, Place

SNAPSHOT = Path(__file__).with_name("plans.snapshot.txt")
HOW_TO_UPDATE = (
    "SQLite answers a query in another way than before. If that way is as good or better, run this "
    "test with UPDATE_SNAPSHOTS=1 and commit the snapshot."
)

Ask = Callable[[SqliteStore], object]
HARBOR = Filter(project="harbor")
WITHOUT = Filter(without_kinds=("session",))
WORDS = '"anchor" OR "chain"'

HOT: dict[str, Ask] = {
    "keyword match": lambda s: match(s, WORDS, limit=5),
    "keyword match in a project": lambda s: match(s, WORDS, "plain", limit=5, filter=HARBOR),
    "keyword match without kinds": lambda s: match(s, WORDS, "plain", limit=5, filter=WITHOUT),
    "keyword match of a kind": lambda s: match(s, WORDS, limit=5, filter=Filter(kind="fact")),
    "keyword match with a tag": lambda s: match(s, WORDS, limit=5, filter=Filter(tags=("deep",))),
    "subwords match": lambda s: match(s, WORDS, "subwords", limit=5),
    "find by ids": lambda s: s.memories.get(["m1", "m2"]),
    "browse": lambda s: s.memories.browse(EVERYTHING, 5),
    "browse the next page": lambda s: s.memories.browse(
        EVERYTHING, 5, Place("capture", datetime(2026, 1, 1, tzinfo=UTC), "m3")
    ),
    "browse the next page of a kind": lambda s: s.memories.browse(
        Filter(kind="fact"), 5, Place("capture", datetime(2026, 1, 1, tzinfo=UTC), "m3")
    ),
    "browse what changed since": lambda s: s.memories.browse(Filter(since=NOON), 5),
    "newest": lambda s: s.memories.newest(EVERYTHING, 5),
    "newest in a project": lambda s: s.memories.newest(HARBOR, 5),
    "facets": lambda s: s.memories.facets(EVERYTHING, NOON),
    "facets of a project": lambda s: s.memories.facets(HARBOR, NOON),
    "days": lambda s: s.memories.dates(EVERYTHING),
    "what expires": lambda s: s.memories.expiring(EVERYTHING, 5, since=NOON, until=NOON),
    "topics": lambda s: s.topics.carrying(["deep", "sea"], 5, EVERYTHING),
    "waiting": lambda s: s.vectors.waiting(MODEL, 5),
    "coverage": lambda s: s.vectors.coverage(MODEL),
    "nearest": lambda s: s.vectors.nearest(MODEL, axis(0), 5, EVERYTHING),
    "nearest in a project": lambda s: s.vectors.nearest(MODEL, axis(0), 5, HARBOR),
    "nearest without kinds": lambda s: s.vectors.nearest(MODEL, axis(0), 5, WITHOUT),
    "similarities": lambda s: s.vectors.similarities(MODEL, axis(0), ["m1", "m2"]),
    "vocabulary": lambda s: s.vocabulary.frequencies(["anchor", "chain"]),
    "words that begin so": lambda s: s.vocabulary.beginning("an", 3, 7),
    "terms that begin so": lambda s: s.keyword.terms("stemmed", "anch"),
    "edit": lambda s: edit(s),
    "forget": lambda s: forget(s),
}
# Reads that go along an index in its order and stop at the limit.
IN_ORDER = {
    "browse",
    "browse the next page",
    "browse the next page of a kind",
    "browse what changed since",
    "newest",
    "newest in a project",
    "what expires",
}


def edit(store: SqliteStore) -> None:
    with store.writing(CHANGE) as write:
        held = write.find(["m1"])["m1"]
        write.replace(held, memory("m1", text="other words", tags=("deep",)))


def forget(store: SqliteStore) -> None:
    with store.writing(CHANGE) as write:
        write.forget(write.find(["m2"])["m2"], NOON)


@pytest.fixture
def store(open_store: OpenStore) -> SqliteStore:
    opened = open_store()
    save(
        opened,
        *(
            memory(f"m{n}", text="anchor " * n + "chain", project="harbor", tags=("deep", f"t{n}"))
            for n in range(9)
        ),
        memory("session", text="anchor", kind="session"),
    )
    put(opened, MODEL, {"m1": axis(0), "m2": axis(1)})
    return opened


def plans(store: SqliteStore, ask: Ask) -> list[list[str]]:
    """The plan of each statement that asking runs, with its indentation."""
    connection = store.database.connection()
    seen: dict[str, apsw.Bindings | None] = {}

    def remember(cursor: apsw.Cursor, sql: str, values: apsw.Bindings | None) -> bool:
        seen.setdefault(sql, values)
        return True

    connection.exec_trace = remember
    try:
        ask(store)
    finally:
        connection.exec_trace = None
    asked = [sql for sql in seen if re.match(r"\s*(SELECT|WITH|UPDATE|DELETE|INSERT)\b", sql)]
    assert asked, "Nothing was asked of the database."
    return [plan(connection, sql, seen[sql]) for sql in asked]


def plan(connection: apsw.Connection, sql: str, values: apsw.Bindings | None = None) -> list[str]:
    depth = {0: -1}
    lines = []
    for id, parent, _, detail in connection.execute(f"EXPLAIN QUERY PLAN {sql}", values):
        assert isinstance(id, int)
        assert isinstance(parent, int)
        depth[id] = depth[parent] + 1
        lines.append("  " * depth[id] + str(detail))
    return lines


def reads_a_whole_table(line: str) -> bool:
    """A SCAN of anything but an index in order, a virtual table, a subquery, the one-row table
    that holds the number of memories, or that of segments, of which there are a few."""
    found = re.match(r"\s*SCAN (\S+)(.*)", line)
    if not found:
        return False
    name, how = found.groups()
    few = {"best", "corpus", "c", "grouped", "segments", "CONSTANT"}
    harmless = name in few or "VIRTUAL TABLE" in how or name.startswith("(subquery")
    return not harmless and "USING INDEX" not in how and "USING COVERING INDEX" not in how


@pytest.mark.own_segments  # a write here has no merge in it
@pytest.mark.parametrize("name", HOT)
def test_no_hot_query_reads_a_whole_table(store: SqliteStore, name: str) -> None:
    found = plans(store, HOT[name])
    bad = [line for lines in found for line in lines if reads_a_whole_table(line)]
    assert bad == [], f"{name}: {found}"


@pytest.mark.parametrize("name", sorted(IN_ORDER))
def test_what_is_read_in_order_is_not_sorted(store: SqliteStore, name: str) -> None:
    found = plans(store, HOT[name])
    sorting = re.compile(r"\s*USE TEMP B-TREE FOR .*ORDER BY$")
    assert not [line for lines in found for line in lines if sorting.match(line)], found


def test_the_check_itself_knows_a_bad_plan(store: SqliteStore) -> None:
    """Queries that no index serves are seen as such."""
    connection = store.database.connection()
    for sql in (
        "SELECT * FROM memories WHERE details = 'x'",
        "SELECT * FROM memories m JOIN tags t WHERE t.name = m.title",
        "SELECT count(*) FROM vectors v WHERE length(v.vector) = 1",
        "SELECT 1 FROM memory_tags ORDER BY position",
        "DELETE FROM vocabulary WHERE documents <= 0",
    ):
        assert any(map(reads_a_whole_table, plan(connection, sql))), sql


@pytest.mark.own_segments
def test_the_plans_are_the_committed_ones(store: SqliteStore) -> None:
    found = ""
    for name, ask in HOT.items():
        lines = [line for lines in plans(store, ask) for line in (*lines, "")]
        found += "\n".join([f"== {name}", *lines]) + "\n"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        SNAPSHOT.write_text(found, encoding="utf-8")
    assert found == SNAPSHOT.read_text(encoding="utf-8"), HOW_TO_UPDATE


def test_facets_of_two_filters_read_the_tags_of_what_passes_and_no_others(
    store: SqliteStore,
) -> None:
    both = Filter(project="harbor", kind="fact")
    found = plans(store, lambda s: s.memories.facets(both, NOON))
    tags = [line.strip() for lines in found for line in lines if " mt " in line]
    assert tags == ["SEARCH mt USING PRIMARY KEY (memory=?)"]
