"""Counts of what is in the vault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.feedback import SqliteFeedback

BY = ("kind", "tier", "project")


def counts(database: Database) -> dict[str, Any]:
    """The number of memories (by kind, tier and project, most first), of forgotten ones and of
    tags, the feedback, and the file's size."""
    grouped = {f"{column}s": _grouped(database, column) for column in BY}
    [(memories, forgotten, tags)] = database.rows(
        "SELECT (SELECT documents FROM corpus), "
        "(SELECT count(*) FROM memories WHERE forgotten_at IS NOT NULL), "
        "(SELECT count(DISTINCT tag) FROM memory_tags)"
    )
    accepted, dismissed = SqliteFeedback(database).standing()
    return {
        "memories": memories,
        "forgotten": forgotten,
        **grouped,
        "tags": tags,
        "feedback": {"accepted": accepted, "dismissed": dismissed},
        "bytes": sum(file.stat().st_size for file in _files(database.path)),
    }


def _files(vault: Path) -> list[Path]:
    """The vault and, while it is in use, the log beside it."""
    beside = vault.with_name(vault.name + "-wal")
    return [file for file in (vault, beside) if file.exists()]


def _grouped(database: Database, column: str) -> dict[str, int]:
    rows = database.rows(
        f"SELECT {column}, count(*) FROM memories WHERE forgotten_at IS NULL "
        "GROUP BY 1 ORDER BY 2 DESC, 1"
    )
    return dict(rows)  # type: ignore[arg-type]
