"""Counts of what is in the vault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.feedback import SqliteFeedback

BY = ("kind", "tier", "project")
KEPT = """
    SELECT value, memories FROM counts WHERE scope = '' AND within = '' AND field = ?
     ORDER BY memories DESC, value"""


def counts(database: Database) -> dict[str, Any]:
    """The number of memories (by kind, tier and project, most first), of forgotten ones and of
    tags, the feedback, and the file's size."""
    grouped = {f"{field}s": _kept(database, field) for field in BY}
    [(memories, tags, archived)] = database.rows(
        "SELECT (SELECT documents FROM corpus), (SELECT count(*) FROM tags t "
        "WHERE EXISTS (SELECT 1 FROM memory_tags WHERE tag = t.key)), (SELECT count(*) "
        "FROM memories WHERE archived_at IS NOT NULL AND forgotten_at IS NULL)"
    )
    accepted, dismissed = SqliteFeedback(database).standing()
    return {
        "memories": memories,
        "archived": archived,
        "forgotten": _kept(database, "forgotten").get("", 0),
        **grouped,
        "tags": tags,
        "feedback": {"accepted": accepted, "dismissed": dismissed},
        "bytes": sum(file.stat().st_size for file in _files(database.path)),
    }


def _kept(database: Database, field: str) -> dict[str, int]:
    return dict(database.rows(KEPT, field))  # type: ignore[arg-type]


def _files(vault: Path) -> list[Path]:
    """The vault and, while it is in use, the log beside it."""
    beside = vault.with_name(vault.name + "-wal")
    return [file for file in (vault, beside) if file.exists()]
