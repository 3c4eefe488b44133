"""Feedback as rows: writing them, and completing those of older vaults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import apsw

from recollect.query.likeness import normalised
from recollect.store.base import FeedbackEvent
from recollect.store.feedback_log import missing

INSERT = "INSERT INTO feedback (query, memory_id, accepted, given_at, words) VALUES (?, ?, ?, ?, ?)"


def complete_feedback(
    connection: apsw.Connection, events: Iterable[tuple[FeedbackEvent, int]]
) -> int:
    """Record each event that is stored less often than its number says; returns how many."""
    counted = connection.execute(
        "SELECT query, memory_id, accepted, given_at, words, count(*) FROM feedback "
        "GROUP BY 1, 2, 3, 4, 5"
    )
    stored: Counter[Any] = Counter({tuple(row): count for *row, count in counted})
    rows = [*missing(stored, events)]
    connection.executemany(INSERT, rows)
    return len(rows)


def fill(connection: apsw.Connection) -> None:
    """Normalise the queries of feedback that was given before their words were kept."""
    rows = connection.execute("SELECT key, query FROM feedback").fetchall()
    connection.executemany(
        "UPDATE feedback SET words = ? WHERE key = ?",
        [(normalised(str(query)), key) for key, query in rows],
    )
