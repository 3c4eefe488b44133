"""Feedback of older vaults."""

from __future__ import annotations

import apsw

from recollect.query.likeness import normalised


def fill(connection: apsw.Connection) -> None:
    """Normalise the queries of feedback that was given before their words were kept."""
    rows = connection.execute("SELECT key, query FROM feedback").fetchall()
    connection.executemany(
        "UPDATE feedback SET words = ? WHERE key = ?",
        [(normalised(str(query)), key) for key, query in rows],
    )
