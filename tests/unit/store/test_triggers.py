"""Both word indexes follow every change of the tables, however it is made.

After each change they are compared, word by word and place by place, with indexes made anew from
what the tables hold. The index of parts, which SQL cannot fill, loses what is out of date.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest
from store_fixtures import problems
from suites.stores.helpers import forget, save
from suites.stores.samples import NOON, full_memory, memory

from recollect.store.base import COLUMNS
from recollect.store.rescue.repair import mend
from recollect.store.sqlite.fts5_index import TOKENIZERS
from recollect.store.sqlite.store import SqliteStore

OF_WORDS = {index: COLUMNS[index] for index in ("stemmed", "plain")}
TEXT_COLUMNS = tuple(column for column in COLUMNS["stemmed"] if column != "tags")
MEMORIES = (
    full_memory("first"),
    memory("second", text="drop the anchor", tags=("harbor", "Deep Sea")),
    memory("third", text="hoist the sails", tags=("harbor",)),
    memory("fourth", text="forgotten words", tags=("deep", "harbor")),
)

pytestmark = pytest.mark.own_segments  # what triggers change are the FTS5 tables


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[apsw.Connection]:
    """A vault with three live memories and a forgotten one, as a bare connection."""
    store = SqliteStore(tmp_path / "vault.db")
    save(store, *MEMORIES)
    forget(store, "fourth")
    opened = store.database.connection()
    check(opened)
    yield opened
    store.close()


def check(connection: apsw.Connection) -> None:
    """Both indexes hold what indexes made anew would hold, and the count is right."""
    live = truth(connection)
    assert connection.execute("SELECT documents FROM corpus").get == len(live)
    for index, columns in OF_WORDS.items():
        anew = apsw.Connection(":memory:")
        anew.execute(
            f"CREATE VIRTUAL TABLE {index} USING fts5 ({', '.join(columns)}, "
            f"tokenize = '{TOKENIZERS[index]}')"
        )
        for key, fields in live.items():
            anew.execute(
                f"INSERT INTO {index} (rowid, {', '.join(columns)}) "
                f"VALUES (?{', ?' * len(columns)})",
                (key, *(fields[column] for column in columns)),
            )
        assert places(connection, index) == places(anew, index), index
        anew.close()


def truth(connection: apsw.Connection) -> dict[int, dict[str, str]]:
    """The live memories, read from the tables alone."""
    columns = ", ".join(TEXT_COLUMNS)
    found: dict[int, dict[str, str]] = {}
    rows = connection.execute(f"SELECT key, {columns} FROM memories WHERE forgotten_at IS NULL")
    for key, *texts in rows.fetchall():
        assert isinstance(key, int)
        tags = connection.execute(
            "SELECT t.name FROM memory_tags mt, tags t "
            "WHERE mt.memory = ? AND t.key = mt.tag ORDER BY mt.position",
            (key,),
        )
        found[key] = dict(zip(TEXT_COLUMNS, map(str, texts), strict=True))
        found[key]["tags"] = " ".join(str(name) for (name,) in tags)
    return found


def places(connection: apsw.Connection, index: str) -> list[tuple[apsw.SQLiteValue, ...]]:
    """Return every occurrence of a word: word, memory, column, place."""
    connection.execute(f"CREATE VIRTUAL TABLE temp.seen USING fts5vocab (main, {index}, instance)")
    found = connection.execute("SELECT term, doc, col, offset FROM temp.seen").fetchall()
    connection.execute("DROP TABLE temp.seen")
    return found


def key_of(connection: apsw.Connection, id: str) -> apsw.SQLiteValue:
    return connection.execute("SELECT key FROM memories WHERE id = ?", (id,)).get


def finds(connection: apsw.Connection, word: str, index: str = "stemmed") -> set[str]:
    rows = connection.execute(
        f"SELECT m.id FROM {index} i JOIN memories m ON m.key = i.rowid WHERE {index} MATCH ?",
        (word,),
    )
    return {str(id) for (id,) in rows}


def test_the_comparison_sees_a_wrong_index(connection: apsw.Connection) -> None:
    key = key_of(connection, "second")
    connection.execute("DELETE FROM plain WHERE rowid = ?", (key,))
    with pytest.raises(AssertionError, match="plain"):
        check(connection)
    connection.execute(
        "INSERT INTO plain (rowid, title, text, tags) VALUES (?, ?, ?, ?)",
        (key, "About second", "drop anchor the", "harbor Deep Sea"),
    )
    with pytest.raises(AssertionError, match="plain"):
        check(connection)


def test_an_inserted_memory_is_indexed(connection: apsw.Connection) -> None:
    columns = ", ".join(row[1] for row in connection.execute("PRAGMA table_info(memories)"))
    copied = columns.replace("key, id, title,", "key + 100, 'copy', 'lighthouse keeper',")
    connection.execute(
        f"INSERT INTO memories ({columns}) SELECT {copied} FROM memories WHERE id = 'first'"
    )
    assert finds(connection, "lighthouse") == finds(connection, "keeper", "plain") == {"copy"}
    check(connection)


@pytest.mark.parametrize("column", TEXT_COLUMNS)
def test_an_updated_column_is_indexed_anew(connection: apsw.Connection, column: str) -> None:
    sql = f"UPDATE memories SET {column} = 'lighthouse keeper' WHERE id = 'first'"
    connection.execute(sql)
    check(connection)
    changed = "lighthouse keeper" if column == "id" else "first"
    assert finds(connection, "lighthouse") == {changed}
    assert finds(connection, "lighthouse", "plain") == (
        {changed} if column in COLUMNS["plain"] else set()
    )


WRITES: dict[str, tuple[str, str, set[str], set[str]]] = {
    "columns that are not indexed may change": (
        "UPDATE memories SET details = 'lighthouse', tier = 'file', domain = 'x'",
        "lighthouse", set(), set(),
    ),
    "a deleted memory is in no index": (
        "DELETE FROM memories WHERE id = 'second'", "anchor", set(), set(),
    ),
    "an added tag is indexed, but not of a forgotten memory": (
        "INSERT INTO tags (key, name, topic) VALUES (99, 'lighthouse keeper', x'00');"
        "INSERT INTO memory_tags SELECT key, 99, 9 FROM memories WHERE id IN ('second', 'fourth')",
        "keeper", {"second"}, {"second"},
    ),
    "a removed tag is indexed no more": (  # it is the project of the first as well
        "DELETE FROM memory_tags WHERE tag IN (SELECT key FROM tags WHERE name = 'harbor')",
        "harbor", {"first"}, set(),
    ),
    "a renamed tag is found by its new name": (
        "UPDATE tags SET name = 'Lighthouse Bay' WHERE name = 'harbor'",
        "lighthouse", {"second", "third"}, {"second", "third"},
    ),
    "a renamed tag is not found by its old name": (
        "UPDATE tags SET name = 'Lighthouse Bay' WHERE name = 'harbor'",
        "tags : harbor", set(), set(),
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", WRITES)
def test_indexes_follow_plain_sql(connection: apsw.Connection, what: str) -> None:
    sql, word, stemmed, plain = WRITES[what]
    connection.execute(sql)
    assert (finds(connection, word), finds(connection, word, "plain")) == (stemmed, plain)
    check(connection)


def test_a_deleted_memory_that_was_forgotten_changes_nothing(connection: apsw.Connection) -> None:
    before = places(connection, "stemmed")
    connection.execute("DELETE FROM memories WHERE id = 'fourth'")
    assert places(connection, "stemmed") == before
    check(connection)


def test_a_forgotten_memory_leaves_both_indexes_and_comes_back(
    connection: apsw.Connection,
) -> None:
    before = [places(connection, index) for index in OF_WORDS]
    connection.execute("UPDATE memories SET forgotten_at = 1 WHERE id = 'second'")
    assert finds(connection, "anchor") == finds(connection, "anchor", "plain") == set()
    check(connection)
    connection.execute("UPDATE memories SET text = 'other' WHERE id = 'second'")
    assert finds(connection, "other") == set()
    connection.execute("UPDATE memories SET text = 'drop the anchor' WHERE id = 'second'")
    check(connection)
    connection.execute("UPDATE memories SET forgotten_at = NULL WHERE id = 'second'")
    assert [places(connection, index) for index in OF_WORDS] == before
    check(connection)


def test_a_change_that_is_rolled_back_leaves_the_indexes_alone(
    connection: apsw.Connection,
) -> None:
    before = [places(connection, index) for index in OF_WORDS]
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE memories SET text = 'lighthouse'")
    connection.execute("DELETE FROM memory_tags")
    assert [places(connection, index) for index in OF_WORDS] != before
    connection.execute("ROLLBACK")
    assert [places(connection, index) for index in OF_WORDS] == before
    check(connection)


def test_many_changes_in_any_order_keep_the_indexes_in_step(connection: apsw.Connection) -> None:
    chance = random.Random(3)
    words = "anchor beacon chain deck ebb flag gull".split()
    ids = [f"'{one.id}'" for one in MEMORIES]
    for step in range(150):
        word, id = chance.choice(words), chance.choice(ids)
        column = chance.choice([name for name in TEXT_COLUMNS if name != "id"])
        connection.execute(
            chance.choice(
                (
                    f"UPDATE memories SET {column} = {column} || ' {word}' WHERE id = {id}",
                    f"UPDATE memories SET {column} = '{word} {step}' WHERE id = {id}",
                    f"UPDATE memories SET forgotten_at = {step} WHERE id = {id}",
                    f"UPDATE memories SET forgotten_at = NULL WHERE id <> {id}",
                    f"INSERT OR IGNORE INTO tags (name, topic) VALUES ('{word}', x'00')",
                    f"UPDATE tags SET name = name || '{step}' WHERE name = '{word}'",
                    f"""INSERT OR IGNORE INTO memory_tags SELECT m.key, t.key, {step}
                          FROM memories m, tags t WHERE m.id = {id} AND t.name = '{word}'""",
                    f"""DELETE FROM memory_tags WHERE position % 2 = {step % 2} AND memory =
                          (SELECT key FROM memories WHERE id = {id})""",
                )
            )
        )
        check(connection)


CHANGES = {
    "its text": "UPDATE memories SET text = 'x' WHERE id = 'named'",
    "whether it is live": "UPDATE memories SET forgotten_at = 1 WHERE id = 'named'",
    "its tags": "DELETE FROM memory_tags",
    "the name of a tag": "UPDATE tags SET name = 'x' WHERE name = 'deepSea'",
    "that it is there": "DELETE FROM memories WHERE id = 'named'",
}


@pytest.mark.parametrize("what", CHANGES)
def test_parts_of_a_memory_that_plain_sql_changes_go(
    store: SqliteStore, tmp_path: Path, what: str
) -> None:
    """Without the store's writes, parts may be missing until a repair, but never out of date."""
    save(store, memory("named", text="FileSync", tags=("deepSea",)), memory("b", text="FileSync"))
    connection = apsw.Connection(str(tmp_path / "vault.db"))
    connection.execute("PRAGMA foreign_keys = ON")
    assert finds(connection, "filesync", "parts") == {"named", "b"}
    connection.execute(CHANGES[what])
    assert finds(connection, "filesync OR deepsea", "parts") == {"b"}
    connection.close()
    mend(store, NOON)
    assert problems(store) == []
