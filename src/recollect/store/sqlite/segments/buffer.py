"""The FTS5 tables as the buffer of the segments: they hold the changes since the last merge."""

from __future__ import annotations

from collections.abc import Collection

import apsw

from recollect.store.base import COLUMNS, SEGMENTS_FROM
from recollect.store.sqlite.connection import as_json_list
from recollect.store.sqlite.fts5_index import TABLES, fill_subwords, index_statistics

# The indexes that hold a memory's columns unchanged, with the condition on memories.
OF_WORDS = {"stemmed": "true", "plain": "true", "details": "details <> ''"}
FIRST = SEGMENTS_FROM  # memories in a buffer without segments
# With segments, every search reads the buffer too: so it stays small.
MOST = 1000
AMONG = "key IN (SELECT value FROM json_each(?))"


def is_alone(connection: apsw.Connection) -> bool:
    return not connection.execute("SELECT EXISTS (SELECT 1 FROM segments WHERE ready)").get


def is_full(connection: apsw.Connection) -> bool:
    return index_statistics(connection, TABLES["stemmed"], ()).rows >= limit(connection)


def limit(connection: apsw.Connection) -> int:
    return FIRST if is_alone(connection) else MOST


def keys(connection: apsw.Connection, limit: int = -1) -> list[int]:
    """Return the keys of the memories in the buffer, ascending."""
    sql = f"SELECT id FROM {TABLES['stemmed']}_docsize ORDER BY id LIMIT ?"
    return [int(key) for (key,) in connection.execute(sql, (limit,))]


def clear(connection: apsw.Connection) -> None:
    for table in TABLES.values():
        connection.execute(f"INSERT INTO {table} ({table}) VALUES ('delete-all')")


def fill(connection: apsw.Connection, among: Collection[int] | None = None) -> None:
    """Put every live memory, or those with these keys, into the buffer, which has none of them."""
    fill_words(connection, among)
    condition, values = _key_condition(among)
    fill_subwords(connection, condition, *values)


def fill_words(connection: apsw.Connection, among: Collection[int] | None = None) -> None:
    """Put live memories into the indexes of words, but not into `subwords`; see `fill`."""
    condition, values = _key_condition(among)
    for index, holds in OF_WORDS.items():
        columns = ", ".join(COLUMNS[index])
        connection.execute(
            f"INSERT INTO {TABLES[index]} (rowid, {columns}) "
            f"SELECT key, {columns} FROM indexed WHERE {holds} AND {condition}",
            values,
        )


def _key_condition(among: Collection[int] | None) -> tuple[str, tuple[str, ...]]:
    return ("true", ()) if among is None else (AMONG, (as_json_list(among),))


def remove(connection: apsw.Connection, taken: Collection[int]) -> None:
    """Take memories out of the buffer. If few are left, they are put into an empty one: FTS5 only
    marks deleted rows, and reads them again and again."""
    rest = set(keys(connection)).difference(taken)
    if len(rest) < MOST:
        clear(connection)
        fill(connection, sorted(rest))
        return
    for table in TABLES.values():
        connection.executemany(f"DELETE FROM {table} WHERE rowid = ?", ((key,) for key in taken))
