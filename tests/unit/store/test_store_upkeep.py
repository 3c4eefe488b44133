"""The doctor names whatever is wrong, and a rebuild fixes all that is derived."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest
from store_fixtures import OpenStore, problems
from suites.stores.helpers import forget, matches, nearest, put, save, state
from suites.stores.samples import (
    CHANGE,
    EVERYTHING,
    MODEL,
    NOON,
    OTHER,
    WIDTH,
    axis,
    full_memory,
    memory,
)

from recollect.errors import Damaged
from recollect.store.base import Coverage
from recollect.store.rescue.checks import examine
from recollect.store.rescue.repair import mend
from recollect.store.sqlite import checksums
from recollect.store.sqlite.fts5_index import MOST_WAITING, TABLES
from recollect.store.sqlite.store import SqliteStore
from recollect.types import Filter

CHECKS = [
    "file", "references", "memories", "stemmed index", "plain index", "subwords index",
    "details index", "memory count", "vocabulary", "history", "vectors", "vector index",
    "waiting vectors", "topic hashes",
]  # fmt: skip

WORD_INDEXES = ("stemmed", "plain", "subwords")
# What is damaged by hand, and the check that must say so.
DAMAGE: dict[str, tuple[str, str]] = {
    f"{index}: {what}": (sql.format(index=TABLES[index], column=column), f"{index} index")
    for index, column in (*((name, "title") for name in WORD_INDEXES), ("details", "details"))
    for what, sql in {
        "a memory is missing": "DELETE FROM {index} WHERE rowid = 1",
        "a memory is left over": "INSERT INTO {index} (rowid, {column}) VALUES (99, 'x')",
        "its structure is broken": (
            "UPDATE {index}_data SET block = zeroblob(length(block)) WHERE id > 1000"
        ),
        "its totals are wrong": "UPDATE {index}_data SET block = x'0909' WHERE id = 1",
    }.items()
}
DAMAGE |= {
    f"{index}: {what}": (sql.format(index=TABLES[index]), f"{index} index")
    for index in WORD_INDEXES
    for what, sql in {
        "a forgotten memory is in it": (
            "INSERT INTO {index} (rowid, title, text) SELECT key, title, text FROM memories "
            "WHERE forgotten_at IS NOT NULL"
        ),
        "it holds old words": (
            "DELETE FROM {index} WHERE rowid = 2; "
            "INSERT INTO {index} (rowid, title, text) VALUES (2, 'About second', 'old words')"
        ),
        "a word stands in another column": (
            "DELETE FROM {index} WHERE rowid = 3; "
            "INSERT INTO {index} (rowid, title, text) VALUES (3, 'hoist the sails', 'x')"
        ),
    }.items()
}
DAMAGE |= {
    "details: a memory without details is in it": (
        "INSERT INTO details_words (rowid, details) VALUES (2, '')", "details index"
    ),
    "details: it holds old words": (
        "DELETE FROM details_words WHERE rowid = 1; "
        "INSERT INTO details_words (rowid, details) VALUES (1, 'old words')", "details index",
    ),
    "the count is too high": ("UPDATE corpus SET documents = 4", "memory count"),
    "a token is counted too often": (
        "UPDATE vocabulary SET documents = 9 WHERE token = 'anchor'", "vocabulary"
    ),
    "a token is not counted": ("DELETE FROM vocabulary WHERE token = 'anchor'", "vocabulary"),
    "a token of no memory": ("INSERT INTO vocabulary VALUES ('ghost', 1)", "vocabulary"),
    "a tag has another hash": (
        "UPDATE tags SET topic = x'00' WHERE name = 'harbor'", "topic hashes"
    ),
    "a vector is too short": ("UPDATE vectors SET vector = x'00' WHERE memory = 1", "vectors"),
    "a memory waits that has a vector": (
        "INSERT INTO waiting SELECT model, memory FROM vectors LIMIT 1", "waiting vectors"
    ),
    "a memory without a vector does not wait": ("DELETE FROM waiting", "waiting vectors"),
}  # fmt: skip


@pytest.fixture
def store(open_store: OpenStore) -> SqliteStore:
    opened = open_store()
    save(
        opened,
        full_memory("first"),
        memory("second", text="drop the anchor of SeaChart", tags=("harbor", "deep")),
        memory("third", text="hoist the sails by 帆船の手引き", tags=("harbor",)),
        memory("fourth", text="long forgotten", tags=("deep",)),
    )
    put(opened, MODEL, {"first": axis(0), "second": axis(1)})
    forget(opened, "fourth")
    opened.feedback.add("anchor?", "second", True, NOON)
    return opened


def test_a_vault_in_order_passes_every_check(store: SqliteStore) -> None:
    assert [(one.check, one.problem) for one in store.examine()] == [
        (check, None) for check in CHECKS
    ]


def test_a_new_vault_and_one_with_nothing_left_pass(open_store: OpenStore, tmp_path: Path) -> None:
    store = open_store(tmp_path / "new.db")
    assert problems(store) == []
    save(store, memory("only", tags=("harbor",)))
    put(store, MODEL, {"only": axis(0)})
    forget(store, "only")
    assert problems(store) == []
    store.rebuild()
    assert problems(store) == []


@pytest.mark.own_segments
@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_named_and_a_rebuild_fixes_it(store: SqliteStore, damage: str) -> None:
    sql, check = DAMAGE[damage]
    before = state(store)
    store.database.connection().execute(sql)
    found = problems(store)
    assert [one.check for one in found] == [check]
    store.rebuild()
    assert problems(store) == []
    assert state(store) == before


# What a quick check finds of a small vault, of which it looks at everything but the words.
QUICKLY = {
    "a text was changed": ("UPDATE memories SET text = 'x' WHERE key = 2", "memories"),
    "a memory is not indexed": ("DELETE FROM plain WHERE rowid = 1", "plain index"),
    "a token is not counted": ("DELETE FROM vocabulary WHERE token = 'anchor'", "vocabulary"),
    "a tag has another hash": ("UPDATE tags SET topic = x'00'", "topic hashes"),
}


@pytest.mark.own_segments
@pytest.mark.parametrize("damage", QUICKLY)
def test_a_quick_check_finds_what_sums_and_a_sample_show(store: SqliteStore, damage: str) -> None:
    assert not any(finding.problem for finding in store.glance())
    sql, check = QUICKLY[damage]
    store.database.connection().execute(sql)
    assert check in [finding.check for finding in store.glance() if finding.problem]


def test_a_quick_check_of_an_empty_vault_finds_nothing(
    open_store: OpenStore, tmp_path: Path
) -> None:
    assert not any(finding.problem for finding in open_store(tmp_path / "new.db").glance())


def test_a_check_tells_how_many_memories_it_has_been_through(
    open_store: OpenStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checksums, "STEP", 100)
    store, told = open_store(tmp_path / "new.db"), list[int]()
    save(store, *(memory(f"m{number}") for number in range(200)))
    store.examine(told.append)
    assert sum(told) == 200
    assert len(told) > 1


def test_a_damaged_vector_goes_and_its_memory_waits_for_a_new_one(store: SqliteStore) -> None:
    store.database.connection().execute("UPDATE vectors SET vector = x'00' WHERE memory = 1")
    assert nearest(store, axis(0)) == ["second"], "A damaged vector spoils no search."
    store.rebuild()
    assert store.vectors.coverage(MODEL) == Coverage(1, 3)
    put(store, MODEL, {"first": axis(0)})
    assert nearest(store, axis(0), filter=Filter(archived=True)) == ["first", "second"]


def test_what_waits_by_mistake_waits_only_until_it_is_embedded(store: SqliteStore) -> None:
    """Embedding until nothing waits must end in a damaged vault too."""
    store.database.connection().execute("INSERT INTO waiting SELECT model, memory FROM vectors")
    for _ in range(3):  # there are three memories, and each look gives at least one
        waiting = store.vectors.waiting(MODEL, 9)
        store.vectors.put(MODEL, WIDTH, [(key, axis(0)) for key, _ in waiting], dict(waiting))
    assert store.vectors.waiting(MODEL, 9) == []
    assert store.vectors.coverage(MODEL) == Coverage(3, 3)
    assert problems(store) == []


def test_a_vector_of_a_forgotten_memory_is_named_and_goes(store: SqliteStore) -> None:
    store.database.connection().execute(
        "INSERT INTO vectors (model, memory, passage, start, stop, vector) "
        "SELECT 1, key, 0, 0, 0, zeroblob(?) FROM memories WHERE id = 'fourth'",
        (4 * WIDTH,),
    )
    assert [one.check for one in problems(store)] == ["vectors", "vector index"]
    store.rebuild()
    assert problems(store) == []
    assert nearest(store, axis(0), filter=Filter(archived=True)) == ["first", "second"]


def test_a_tag_renamed_behind_the_stores_back_is_fixed(store: SqliteStore) -> None:
    """The triggers keep the indexes of words; what SQL cannot make, the rebuild makes."""
    store.database.connection().execute("UPDATE tags SET name = 'Quay' WHERE name = 'harbor'")
    assert [one.check for one in problems(store)] == [
        "memories",
        "subwords index",
        "vocabulary",
        "topic hashes",
    ]
    with pytest.raises(Damaged, match="doctor --fix"):
        store.rebuild()
    assert mend(store, NOON).report.untagged == ["second", "third"]
    assert problems(store) == []
    assert [one.memory_id for one in store.topics.carrying(["quay"], 9, EVERYTHING)] == [
        "second",
        "third",
    ]
    assert store.vocabulary.frequencies(["quay"]) == {"quay": 2}


def test_everything_damaged_at_once_is_fixed_at_once(store: SqliteStore) -> None:
    before = state(store)
    for sql, _ in DAMAGE.values():
        if "block" not in sql:
            store.database.connection().execute(sql.replace("INSERT INTO", "INSERT OR IGNORE INTO"))
    assert len(problems(store)) >= 5
    store.rebuild()
    assert problems(store) == []
    assert state(store) == before


def test_a_rebuild_loses_nothing(store: SqliteStore) -> None:
    put(store, OTHER, {"third": axis(2)})
    before = state(store)
    store.rebuild()
    store.rebuild()
    assert state(store) == before
    assert nearest(store, axis(0), filter=Filter(archived=True)) == ["first", "second"]
    assert nearest(store, axis(0), identity=OTHER) == ["third"]
    assert store.feedback.counts() == (1, 0)
    with store.writing(CHANGE) as write:
        assert write.find(["fourth"])["fourth"].forgotten
        write.restore(write.find(["fourth"])["fourth"])
    assert matches(store, "forgotten") == ["fourth"]
    assert problems(store) == []


def test_a_row_that_points_at_nothing_is_named_and_goes(store: SqliteStore) -> None:
    before = state(store)
    connection = store.database.connection()
    connection.execute("PRAGMA foreign_keys = OFF")
    connection.execute("INSERT INTO cuts VALUES (77, 78, 1, '', 1, 2)")
    assert [one.check for one in problems(store)] == ["references"]
    assert not mend(store, NOON).report.memories()
    assert problems(store) == []
    assert state(store) == before


def test_a_broken_page_is_named_and_the_other_checks_still_run(
    open_store: OpenStore, tmp_path: Path
) -> None:
    path = tmp_path / "vault.db"
    store = open_store(path)
    save(store, *(memory(f"m{number}", text="anchor") for number in range(50)))
    connection = store.database.connection()
    page = connection.execute(
        "SELECT rootpage FROM sqlite_schema WHERE name = 'memories_recent'"
    ).get
    size = connection.pragma("page_size")
    assert isinstance(page, int)
    assert isinstance(size, int)
    store.close()
    with path.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * 64)
    store = open_store(path)
    found = {one.check: one for one in store.examine()}
    assert list(found) == CHECKS
    assert found["file"].problem
    assert found["stemmed index"].problem is None


def test_an_idle_vault_is_examined_as_others_left_it(store: SqliteStore) -> None:
    """FTS5 merges its segments as it goes; who looked before must not miss the old ones."""
    assert problems(store) == []
    other = SqliteStore(store.database.path)
    for round in range(40):
        save(other, *(memory(f"m{round}-{n}", text=f"SeaChart {n}") for n in range(5)))
    other.close()
    assert problems(store) == []


@pytest.mark.own_segments
def test_prose_has_no_row_in_the_parts_index(store: SqliteStore) -> None:
    save(store, memory("prose", title="Nothing but words", text="They went home by boat."))
    rows = "SELECT m.id FROM parts_docsize p JOIN memories m ON m.key = p.id ORDER BY m.id"
    before = store.database.rows(rows)
    assert before == [("first",), ("second",), ("third",)], "first: its impact is hyphenated"
    store.rebuild()
    assert store.database.rows(rows) == before


def test_a_write_of_many_memories_indexes_the_parts_of_all(store: SqliteStore) -> None:
    count = MOST_WAITING + 5
    save(store, *(memory(f"m{n}", title="", text="LightHouse") for n in range(count)))
    with store.writing(CHANGE) as write:
        held = write.find([f"m{n}" for n in range(count)])
        for id, before in held.items():
            held[id] = write.replace(before, memory(id, title="", text="DarkHouse"))
        write.forget(held["m0"], NOON)
        write.purge(held["m1"])
    assert matches(store, "lighthouse", "subwords") == []
    assert len(matches(store, "darkhouse", "subwords", limit=2 * count)) == count - 2
    assert problems(store) == []


def test_the_doctor_looks_at_one_moment_while_others_write(
    open_store: OpenStore, store: SqliteStore
) -> None:
    """A check reads several tables; a save between two reads must not look like damage."""
    other = open_store(store.database.path)
    connection = store.database.connection()
    saves = 0

    def save_between(cursor: apsw.Cursor, sql: str, values: apsw.Bindings | None) -> bool:
        nonlocal saves
        if sql.lstrip().startswith("SELECT"):
            saves += 1
            save(other, memory(f"between-{saves}", text=f"anchor word{saves}", tags=(f"t{saves}",)))
        return True

    connection.exec_trace = save_between
    found = examine(connection, store.topics.hash_word)  # all by this connection
    connection.exec_trace = None
    assert saves > 9
    assert not any(finding.problem for finding in found)
