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


def test_any_writes_in_any_order_keep_the_indexes_in_step(connection: apsw.Connection) -> None:
    """Each column, tags and their names, and whether a memory is there or forgotten."""
    chance = random.Random(3)
    fields = ", ".join(str(row[1]) for row in connection.execute("PRAGMA table_info(memories)"))
    for step in range(400):
        key, word = chance.randint(1, 6), chance.choice("anchor beacon chain deck ebb".split())
        copied = fields.replace("key, id, title,", f"{key}, 'id{step}', '{word} keeper',")
        column = chance.choice(TEXT_COLUMNS)
        connection.execute(
            chance.choice(
                (
                    f"""INSERT OR IGNORE INTO memories ({fields})
                        SELECT {copied} FROM memories ORDER BY key LIMIT 1""",
                    f"DELETE FROM memories WHERE key = {key} AND {step % 3} = 0",
                    f"UPDATE memories SET {column} = {column} || ' {word}' WHERE key = {key}",
                    f"UPDATE memories SET {column} = '{word} {step}' WHERE key = {key}",
                    "UPDATE memories SET details = 'lighthouse', tier = 'file', domain = 'x'",
                    f"UPDATE memories SET forgotten_at = {step} WHERE key = {key}",
                    f"UPDATE memories SET forgotten_at = NULL WHERE key <> {key}",
                    f"INSERT OR IGNORE INTO tags (name, topic) VALUES ('{word} bay', x'00')",
                    f"UPDATE tags SET name = name || '{step}' WHERE name LIKE '{word}%'",
                    f"""INSERT OR IGNORE INTO memory_tags SELECT m.key, t.key, {step}
                          FROM memories m, tags t WHERE m.key = {key} AND t.name LIKE '{word}%'""",
                    f"DELETE FROM memory_tags WHERE position % 2 = {step % 2} AND memory = {key}",
                )
            )
        )
        check(connection)
    assert len(truth(connection)) > 2
    assert any(one["tags"] for one in truth(connection).values())


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
