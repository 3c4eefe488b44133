"""Checks of a vault file that need only a connection to it: for the doctor and for copies."""

from __future__ import annotations

import apsw

ORPHANS = """
SELECT (SELECT count(*) FROM postings WHERE segment NOT IN (SELECT number FROM segments))
     + (SELECT count(*) FROM segment_documents WHERE segment NOT IN (SELECT number FROM segments))
     + (SELECT count(*) FROM large_postings
         WHERE key NOT IN (SELECT large FROM postings WHERE large IS NOT NULL))"""


def file_problem(connection: apsw.Connection) -> str | None:
    """What SQLite's own check finds, without the keyword indexes: they have checks of their own and
    can be rebuilt."""
    wrong = [line for line in integrity(connection, "20") if "fts5" not in line.lower()]
    return "; ".join(wrong) or None


def integrity(connection: apsw.Connection, what: str) -> list[str]:
    """The lines of `PRAGMA integrity_check`; none where all is well."""
    found = [str(row[0]) for row in connection.execute(f"PRAGMA integrity_check({what})")]
    return [] if found == ["ok"] else found


def references_problem(connection: apsw.Connection) -> str | None:
    """How many rows refer to rows that do not exist."""
    broken = connection.execute("PRAGMA foreign_key_check").fetchall()
    return f"{len(broken)} rows refer to rows that do not exist" if broken else None


def orphans_problem(connection: apsw.Connection) -> str | None:
    """How many rows of the keyword index belong to no segment."""
    orphans = int(connection.execute(ORPHANS).get)
    return f"{orphans} rows of the keyword index belong to no segment" if orphans else None


def row_counts(connection: apsw.Connection) -> list[tuple[str, int]]:
    """The number of rows of each table."""
    tables = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name"
    ).fetchall()
    return [
        (str(name), int(str(connection.execute(f'SELECT count(*) FROM "{name}"').get)))
        for (name,) in tables
    ]
