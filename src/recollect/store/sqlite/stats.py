"""Counts of what is in the vault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.feedback import SqliteFeedback

BY = ("kind", "tier", "project")
GROUPED = """
    SELECT {field}, count(*) FROM memories WHERE forgotten_at IS NULL
     GROUP BY 1 ORDER BY 2 DESC, 1"""


def counts(database: Database) -> dict[str, Any]:
    """The number of memories (by kind, tier and project, most first), of forgotten ones and of
    tags, the feedback, and the file's size."""
    grouped: dict[str, dict[Any, Any]] = {}
    for field in BY:
        grouped[f"{field}s"] = dict(database.rows(GROUPED.format(field=field)))  # type: ignore[arg-type]
    [(memories, tags, archived, forgotten)] = database.rows(
        "SELECT (SELECT documents FROM corpus), (SELECT count(*) FROM tags t "
        "WHERE EXISTS (SELECT 1 FROM memory_tags WHERE tag = t.key)), (SELECT count(*) "
        "FROM memories WHERE archived_at IS NOT NULL AND forgotten_at IS NULL), "
        "(SELECT count(*) FROM memories WHERE forgotten_at IS NOT NULL)"
    )
    accepted, dismissed = SqliteFeedback(database).standing()
    return {
        "memories": memories,
        "archived": archived,
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
