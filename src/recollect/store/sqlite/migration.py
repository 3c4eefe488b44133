"""The version of a vault file: creating its tables, and migrating older ones."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import apsw

from recollect.errors import StoreError
from recollect.query.likeness import normalise
from recollect.store.sqlite import checksums
from recollect.store.sqlite.fts5_index import fill_subwords
from recollect.store.sqlite.vault_files import VAULT_ID, mark_write

APPLICATION_ID = 0x52434C54  # "RCLT", so that `file` and we can tell a vault from any database
VERSION = 12


def checked_version(connection: apsw.Connection, path: Path) -> int:
    """Return the file's version, 0 for an empty file; raise StoreError for any other database."""
    # One statement reads one snapshot: another process may be making the vault.
    [(version, application, empty)] = connection.execute(
        "SELECT user_version, application_id, NOT EXISTS (SELECT 1 FROM sqlite_schema) "
        "FROM pragma_user_version, pragma_application_id"
    ).fetchall()
    assert isinstance(version, int)
    if application != APPLICATION_ID:
        if version or not empty:
            raise StoreError(f"{path} is a SQLite database, but not a Recollect vault.")
        return 0
    if version > VERSION:
        raise StoreError(
            f"The vault {path} has version {version}, and this Recollect knows versions up to "
            f"{VERSION}; install a newer Recollect to open it."
        )
    return version


def _sum_vocabulary(connection: apsw.Connection) -> None:
    """Write the checksum of the vocabulary, for which 0007.sql adds a column."""
    words = connection.execute("SELECT token, documents FROM vocabulary")
    checksum = checksums.table_checksum(words)
    connection.execute("UPDATE corpus SET vocabulary = ?", (checksum,))


def _leave_segments(connection: apsw.Connection) -> None:
    """Complete 0007.sql: words of a vault with segments return to FTS5."""
    if connection.execute("SELECT EXISTS (SELECT 1 FROM segments)").get:
        fill_subwords(connection)
        for table in ("segments", "postings", "large_postings", "segment_changes"):
            connection.execute(f"DELETE FROM {table}")


def fill_feedback(connection: apsw.Connection) -> None:
    """Normalise the queries of feedback that was given before their words were kept."""
    rows = connection.execute("SELECT key, query FROM feedback").fetchall()
    connection.executemany(
        "UPDATE feedback SET words = ? WHERE key = ?",
        [(normalise(str(query)), key) for key, query in rows],
    )


def _code_vectors(connection: apsw.Connection) -> None:
    """Write the codes of the vectors, for which 0012.sql makes a table."""
    from recollect.store.sqlite.vector_index import fill  # noqa: PLC0415  numpy

    fill(connection)


# The steps of a migration that need Python, by version.
AFTERWARDS = {
    5: (fill_subwords, fill_feedback),
    7: (_leave_segments, _sum_vocabulary),
    8: (checksums.fill,),
    12: (_code_vectors,),
}


def migrate(
    connection: apsw.Connection, path: Path, before: Callable[[int], None] = lambda version: None
) -> None:
    """Bring the file to VERSION in one transaction; a second process finds it done. `before` is
    called with the version of an older file while the write lock is held."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = checked_version(connection, path)
        if version == 0:
            connection.execute(_resource("schema.sql"))
            key = os.urandom(32).hex()
            connection.execute("INSERT INTO meta VALUES ('topic_key', ?)", (key,))
        elif version < VERSION:
            before(version)
        for step in range(max(version, 1) + 1, VERSION + 1 if version else 0):
            connection.execute(_resource(f"migrations/{step:04}.sql"))
            for fill in AFTERWARDS.get(step, ()):
                fill(connection)
        new_id = os.urandom(16).hex()
        connection.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (VAULT_ID, new_id))
        mark_write(connection)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _resource(name: str) -> str:
    return Path(__file__).parent.joinpath(name).read_text(encoding="utf-8")
