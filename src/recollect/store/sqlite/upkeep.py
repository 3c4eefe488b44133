"""Rebuilding what is derived from the memories, and removing what a purge leaves."""

from __future__ import annotations

import os
from collections.abc import Callable

import apsw

from recollect.store.sqlite import vocabulary
from recollect.store.sqlite.connection import Database, as_json_list
from recollect.store.sqlite.errors import BUSY_SECONDS
from recollect.store.sqlite.fts5_index import TABLES
from recollect.store.sqlite.memories import UNSCRUBBED
from recollect.store.sqlite.segments import buffer
from recollect.store.sqlite.vault_files import SET, log_copied
from recollect.store.waiting import waits

SEGMENTS = ("postings", "large_postings", "segment_documents", "segments", "segment_changes")
TopicHash = Callable[[str], bytes]
WRONG_VECTORS = """
    SELECT v.seq FROM vectors v JOIN models o ON o.key = v.model JOIN memories m ON m.key = v.memory
     WHERE length(v.vector) <> 4 * o.dimensions OR m.forgotten_at IS NOT NULL"""
WAITING = """
    SELECT o.key AS model, m.key AS memory FROM models o CROSS JOIN memories m
     WHERE m.forgotten_at IS NULL AND NOT EXISTS
           (SELECT 1 FROM vectors v WHERE v.memory = m.key AND v.model = o.key)"""


def rebuild(connection: apsw.Connection, hashed: TopicHash) -> None:
    """Within a transaction, make the keyword indexes, the vocabulary, the topic hashes, the list
    of memories without a vector and the vectors' codes again. Vectors of a wrong size, and
    those with damaged tokens, are removed and will be made again."""
    _rebuild_words(connection)
    connection.execute("UPDATE corpus SET documents = (SELECT count(*) FROM indexed)")
    vocabulary.fill(connection)
    names = connection.execute("SELECT name FROM tags").fetchall()
    connection.executemany(
        "UPDATE tags SET topic = ? WHERE name = ?",
        [(hashed(str(name)), name) for (name,) in names],
    )
    connection.execute(f"DELETE FROM vectors WHERE seq IN ({WRONG_VECTORS})")
    damaged = as_json_list(damaged_tokens(connection))
    connection.execute(
        "DELETE FROM vectors WHERE seq IN (SELECT value FROM json_each(?))", (damaged,)
    )
    connection.execute("DELETE FROM waiting")
    connection.execute(f"INSERT INTO waiting {WAITING}")
    from recollect.store.sqlite import vector_codes  # noqa: PLC0415  start-up: numpy

    vector_codes.fill(connection)


def damaged_tokens(connection: apsw.Connection) -> list[int]:
    """The vectors whose tokens' vectors are not what was written."""
    from recollect.models.tokens import intact  # noqa: PLC0415  start-up: numpy

    rows = connection.execute("SELECT vector, packed FROM token_vectors")
    return [vector for vector, packed in rows if not intact(packed)]


def _rebuild_words(connection: apsw.Connection) -> None:
    """Make the keyword indexes anew: in the buffer, or of many memories in segments."""
    buffer.clear(connection)
    for table in SEGMENTS:
        connection.execute(f"DELETE FROM {table}")
    many = connection.execute("SELECT 1 FROM indexed LIMIT 1 OFFSET ?", (buffer.FIRST - 1,)).get
    if not many:
        buffer.fill(connection)
        return
    from recollect.store.sqlite.segments.writer import write_all  # noqa: PLC0415  start-up time

    write_all(connection)


def scrub(database: Database) -> None:
    """Remove what is left of purged memories: unused tags, words that the indexes only mark as
    deleted, codes of vectors, and copies in the unused bytes of pages and in the log. Killed in
    between, or kept from it by a reader, it is done again when the vault is next opened."""
    mark = os.urandom(8).hex()
    with database.writing() as connection:
        connection.execute(SET, (UNSCRUBBED, mark))
        connection.execute("DELETE FROM tags WHERE key NOT IN (SELECT tag FROM memory_tags)")
        for table in TABLES.values():
            connection.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
        words = connection.execute("SELECT 1 FROM postings LIMIT 1").get
        codes = connection.execute("SELECT 1 FROM vector_codes LIMIT 1").get
    if words:
        from recollect.store.sqlite.segments.scrubbing import (  # noqa: PLC0415  start-up time
            scrub_segments,
        )

        scrub_segments(database)
    if codes:
        from recollect.store.sqlite import vector_codes  # noqa: PLC0415  start-up: numpy

        vector_codes.scrub(database)
    rewritten = database.rewrite()
    with database.translated():
        done = log_copied(database.connection(), BUSY_SECONDS if waits() else 0)
    if rewritten and done:
        with database.writing() as connection:
            sql = "DELETE FROM meta WHERE key = ? AND value = ?"
            connection.execute(sql, (UNSCRUBBED, mark))
