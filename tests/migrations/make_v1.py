"""Makes `vault-v1.db`, a vault of version 1, and `vault-v1.json`, what it holds.

Both are committed and stay as they are: later versions must open the one and give back the other.
It was run once, with the Recollect whose vaults have version 1: `python make_v1.py FOLDER`.
"""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from recollect.engine import Recollect
from recollect.settings import Embedding, Rerank, Settings

OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)

MEMORIES: list[dict[str, Any]] = [
    {
        "id": "auth-jwt-001",
        "title": "Rotate the signing keys",
        "text": "Every ninety days, and after every incident.",
        "context": "Learned in the audit of 2025.",
        "why": "A leaked key ages.",
        "impact": "Tokens stay short-lived.",
        "details": "1. make a key\n2. publish it\n3. retire the old one",
        "tags": ["Security", "jwt", "ops"],
        "kind": "procedure",
        "severity": "critical",
        "domain": "auth",
        "project": "harbor",
        "source": "review",
        "tier": "core",
        "space": "team",
        "path": "docs/keys.md",
        "created_at": "2024-12-31T23:59:59.999999Z",
        "updated_at": "2026-02-03T04:05:06.000007Z",
        "valid_from": "2025-01-01T00:00:00Z",
        "valid_until": "2027-01-01T00:00:00Z",
    },
    {
        "id": "pool-size",
        "title": "Use a connection pool of ten",
        "text": "Postgres refuses more than a hundred connections.",
        "tags": ["database", "ops"],
        "severity": "warning",
        "project": "harbor",
        "created_at": "2025-06-01T08:00:00Z",
        "updated_at": "2025-06-02T08:00:00Z",
    },
    {
        "id": "日本語-メモ",
        "text": "検索のメモ 👩\u200d👧 e\u0301 'quoted' \"twice\"",
        "tags": ["日本語", "Über"],
        "kind": "preference",
        "tier": "file",
        "path": "notes/日本語.md",
        "created_at": "1999-12-31T00:00:00Z",
        "updated_at": "1999-12-31T00:00:00Z",
    },
    {
        "id": "bare",
        "title": "Nothing but a title",
        "created_at": "2026-02-28T00:00:00Z",
        "updated_at": "2026-02-28T00:00:00Z",
    },
    {
        "id": "gone",
        "title": "A forgotten lighthouse",
        "text": "It can be brought back.",
        "tags": ["ops"],
        "created_at": "2026-01-01T00:00:00Z",
        "updated_at": "2026-01-01T00:00:00Z",
    },
]
FORGOTTEN = ["gone"]
MODEL = "toy:model dimensions=4"
VECTORS = {
    "auth-jwt-001": [1.0, 0.0, 0.0, 0.0],
    "pool-size": [0.0, 0.6, -0.8, 0.0],
    "日本語-メモ": [0.5, 0.5, 0.5, -0.5],
}
FEEDBACK = [("keys", "auth-jwt-001", True), ("pool", "pool-size", True), ("keys", "bare", False)]
DEFAULTS: dict[str, Any] = {
    "title": "", "text": "", "context": "", "why": "", "impact": "", "details": "", "tags": [],
    "kind": "fact", "severity": None, "domain": "", "project": "", "source": "", "tier": "capture",
    "space": "", "path": "", "valid_from": None, "valid_until": None,
}  # fmt: skip


def make_vault(path: Path) -> None:
    """The vault, through the public interface."""
    with Recollect(path, home=path.parent, settings=OFF, clock=lambda: NOW) as memory:
        for fields in MEMORIES:
            memory.save(**fields)
        with memory.store.writing() as write:
            keys = {id: stored.key for id, stored in write.find(VECTORS).items()}
        rows = [(keys[id], np.array(row, np.float32)) for id, row in VECTORS.items()]
        memory.store.vectors.put(MODEL, 4, rows)
        memory.forget(FORGOTTEN)
        for query, id, accept in FEEDBACK:
            memory.store.feedback.add(query, id, accept, NOW)


def expected() -> dict[str, Any]:
    """What the vault holds, in words that no later version can change."""
    return {
        "memories": [DEFAULTS | fields for fields in MEMORIES],
        "forgotten": FORGOTTEN,
        "model": MODEL,
        "vectors": VECTORS,
        "feedback": {"accepted": 2, "dismissed": 1},
    }


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    make_vault(folder / "vault-v1.db")
    text = json.dumps(expected(), ensure_ascii=False, indent=1)
    (folder / "vault-v1.json").write_text(text + "\n", encoding="utf-8")
