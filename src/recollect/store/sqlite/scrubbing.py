"""Removing the remains of purged memories from the file."""

from __future__ import annotations

import os

import numpy as np

from recollect.index.joining import in_order, occurrences, selected
from recollect.index.postings import encoded
from recollect.index.segments import Documents, Segment
from recollect.retry import waits
from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.errors import BUSY_SECONDS
from recollect.store.sqlite.fts5_index import TABLES
from recollect.store.sqlite.memories import UNSCRUBBED
from recollect.store.sqlite.segments.merging import stored_rows
from recollect.store.sqlite.segments.reader import WORDS, Segments
from recollect.store.sqlite.segments.writer import (
    is_segment,
    remove_segment,
    remove_tokens,
    rows_checksum,
    write_documents,
    write_rows,
)
from recollect.store.sqlite.vault_files import SET, log_copied

# A segment that is not ready, or rows that belong to none: an interrupted import may leave both.
REMOVABLE = """
    SELECT number FROM segments WHERE NOT ready
     UNION SELECT segment FROM postings WHERE segment NOT IN (SELECT number FROM segments)"""
TOKEN = "SELECT token, large FROM postings WHERE segment = ? AND words = ? AND token = ?"


def scrub(database: Database) -> None:
    """Remove the remains of purged memories: unused tags, words that the indexes only mark as
    deleted, and copies in the unused bytes of pages and in the log. If it is interrupted, or a
    reader prevents it, it is repeated when the vault is next opened."""
    mark = os.urandom(8).hex()
    with database.writing() as connection:
        connection.execute(SET, (UNSCRUBBED, mark))
        connection.execute("DELETE FROM tags WHERE key NOT IN (SELECT tag FROM memory_tags)")
        for table in TABLES.values():
            connection.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
        words = connection.execute("SELECT 1 FROM postings LIMIT 1").get
    if words:
        _scrub_segments(database)
    rewritten = database.rewrite()
    with database.translated():
        done = log_copied(database.connection(), BUSY_SECONDS if waits() else 0)
    if rewritten and done:
        with database.writing() as connection:
            sql = "DELETE FROM meta WHERE key = ? AND value = ?"
            connection.execute(sql, (UNSCRUBBED, mark))


def _scrub_segments(database: Database) -> None:
    """Remove the words of dead documents. An unfinished segment is removed as a whole: it may hold
    such words, and its maker begins again."""
    with database.writing() as connection:
        for (number,) in connection.execute(REMOVABLE).fetchall():
            remove_segment(connection, number)  # type: ignore[arg-type]
    segments = Segments()
    for index in WORDS:
        with database.reading() as connection:
            found = segments.each(connection, index)
        for segment in found:
            _scrub_segment(database, segment)


def _scrub_segment(database: Database, segment: Segment) -> None:
    if segment.live is None:
        return
    dead = ~segment.live & (segment.lengths > 0)
    if not dead.any():
        return
    number, words = segment.place
    read = stored_rows(database, [segment])
    for names, found in occurrences(read, [np.arange(len(dead))]):
        holds = dead[found.places.documents]
        changed = np.unique(found.tokens[holds])
        if not len(changed):
            continue
        rest = selected(found, np.isin(found.tokens, changed) & ~holds)
        with database.writing() as connection:
            if not is_segment(connection, number, ready=True):
                return  # merged meanwhile: what is dead is not taken along
            before = [
                row
                for token in changed.tolist()
                for row in connection.execute(TOKEN, (number, words, names[token]))
            ]
            remove_tokens(connection, number, words, before)
            write_rows(connection, number, words, encoded(names, in_order(rest)))
    # A dead document without a word needs no second look.
    lengths = np.where(dead, 0, segment.lengths).astype(np.uint32)
    with database.writing() as connection:
        if is_segment(connection, number, ready=True):
            documents, rows = (
                Documents(segment.keys, lengths),
                rows_checksum(connection, segment.place),
            )
            write_documents(connection, number, words, documents, rows)
