"""Rebuilding what is derived, and finding what is out of step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import apsw

from recollect.query.terms import tokens
from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.topics import SqliteTopics

SEMANTIC = (
    "SELECT title || char(10) || text || char(10) || context || char(10) || tags FROM indexed"
)


class Finding(NamedTuple):
    """One thing the doctor looked at: what is wrong, or None, and whether a rebuild mends it."""

    check: str
    problem: str | None
    mendable: bool = True


def rebuild(database: Database, topics: SqliteTopics) -> None:
    """Both keyword indexes, the vocabulary, the count and the topic hashes, from the memories."""
    with database.writing() as connection:
        for index in ("stemmed", "plain"):
            connection.execute(f"INSERT INTO {index} ({index}) VALUES ('delete-all')")
        connection.execute(
            "INSERT INTO stemmed "
            "(rowid, id, title, text, context, tags, why, impact, kind, project, source) "
            "SELECT key, id, title, text, context, tags, why, impact, kind, project, source "
            "FROM indexed"
        )
        connection.execute(
            "INSERT INTO plain (rowid, title, text, tags) "
            "SELECT key, title, text, tags FROM indexed"
        )
        connection.execute("UPDATE corpus SET documents = (SELECT count(*) FROM indexed)")
        connection.execute("DELETE FROM vocabulary")
        connection.executemany(
            "INSERT INTO vocabulary VALUES (?, ?)", sorted(_counted(connection).items())
        )
        names = connection.execute("SELECT name FROM tags").fetchall()
        connection.executemany(
            "UPDATE tags SET topic = ? WHERE name = ?",
            [(topics.hashed(str(name)), name) for (name,) in names],
        )


def examine(database: Database, topics: SqliteTopics) -> Iterator[Finding]:
    """Every check, one after the other; a vault in order has no problem in any."""
    connection = database.connection()
    for check, look, mendable in CHECKS:
        try:
            yield Finding(check, look(connection), mendable)
        except apsw.Error as error:
            yield Finding(check, str(error), mendable)
    wrong = [
        name
        for name, topic in connection.execute("SELECT name, topic FROM tags")
        if topics.hashed(str(name)) != topic
    ]
    yield Finding("topic hashes", f"{len(wrong)} tags have a wrong hash" if wrong else None)


def _counted(connection: apsw.Connection) -> Counter[str]:
    counted: Counter[str] = Counter()
    for (text,) in connection.execute(SEMANTIC):
        counted.update(set(tokens(str(text))))
    return counted


def _file(connection: apsw.Connection) -> str | None:
    found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(5)")]
    return None if found == ["ok"] else "; ".join(found)


def _references(connection: apsw.Connection) -> str | None:
    broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    return f"{len(broken)} rows point at nothing" if broken else None


def _rows(index: str) -> Callable[[apsw.Connection], str | None]:
    def look(connection: apsw.Connection) -> str | None:
        """As many rows as live memories, and FTS5's own check of the index's structure."""
        connection.execute(f"INSERT INTO {index} ({index}) VALUES ('integrity-check')")
        held = {row[0] for row in connection.execute(f"SELECT id FROM {index}_docsize")}
        live = {row[0] for row in connection.execute("SELECT key FROM indexed")}
        if held == live:
            return None
        return f"{len(live - held)} memories are missing and {len(held - live)} are left over"

    return look


def _count(connection: apsw.Connection) -> str | None:
    [(told, real)] = connection.execute(
        "SELECT (SELECT documents FROM corpus), (SELECT count(*) FROM indexed)"
    ).fetchall()
    return None if told == real else f"it says {told} and there are {real}"


def _vocabulary(connection: apsw.Connection) -> str | None:
    told = set(connection.execute("SELECT token, documents FROM vocabulary"))
    real = set(_counted(connection).items())
    wrong = len({token for token, _ in told ^ real})
    return f"{wrong} tokens are counted wrong" if wrong else None


def _vectors(connection: apsw.Connection) -> str | None:
    [(wrong,)] = connection.execute(
        "SELECT count(*) FROM vectors v JOIN models o ON o.key = v.model "
        "JOIN memories m ON m.key = v.memory "
        "WHERE length(v.vector) <> 4 * o.dimensions OR m.forgotten_at IS NOT NULL"
    ).fetchall()
    return f"{wrong} vectors have the wrong size or belong to forgotten memories" if wrong else None


CHECKS: tuple[tuple[str, Callable[[apsw.Connection], str | None], bool], ...] = (
    ("file", _file, False),
    ("references", _references, False),
    ("stemmed index", _rows("stemmed"), True),
    ("plain index", _rows("plain"), True),
    ("memory count", _count, True),
    ("vocabulary", _vocabulary, True),
    ("vectors", _vectors, True),
)
