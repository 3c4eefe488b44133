"""Creating the tables of a vault, and migrating older files."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import apsw

from recollect.query.likeness import normalised
from recollect.store.sqlite import checksums, subwords
from recollect.store.sqlite.schema import APPLICATION_ID, VERSION, checked_version
from recollect.store.sqlite.vault_files import VAULT_ID, mark_write


def _sum_vocabulary(connection: apsw.Connection) -> None:
    """Write the checksum of the vocabulary, which 0007.sql makes room for."""
    words = connection.execute("SELECT token, documents FROM vocabulary")
    checksum = checksums.table_checksum(words)
    connection.execute("UPDATE corpus SET vocabulary = ?", (checksum,))


def _leave_segments(connection: apsw.Connection) -> None:
    """Complete what 0007.sql begins: words of a vault with segments are in FTS5 again."""
    if connection.execute("SELECT EXISTS (SELECT 1 FROM segments)").get:
        subwords.fill(connection)
        for table in ("segments", "postings", "large_postings", "segment_changes"):
            connection.execute(f"DELETE FROM {table}")


def fill_feedback(connection: apsw.Connection) -> None:
    """Normalise the queries of feedback that was given before their words were kept."""
    rows = connection.execute("SELECT key, query FROM feedback").fetchall()
    connection.executemany(
        "UPDATE feedback SET words = ? WHERE key = ?",
        [(normalised(str(query)), key) for key, query in rows],
    )


# What SQL alone cannot migrate, by the version it belongs to.
AFTERWARDS = {
    5: (subwords.fill, fill_feedback),
    7: (_leave_segments, _sum_vocabulary),
    8: (checksums.fill,),
}


def migrate(
    connection: apsw.Connection, path: Path, before: Callable[[int], None] = lambda version: None
) -> None:
    """Bring the file to VERSION in one transaction; a second process finds it done. `before` is
    called with the version of an older file, once nobody else can write."""
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
