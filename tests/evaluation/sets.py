"""Small data sets, written where a test wants them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

DOCUMENTS = (
    {"_id": "d1", "title": "Rotate tokens", "text": "Refresh tokens are rotated every night."},
    {"_id": "d2", "title": "Deployments", "text": "Nothing is deployed on Fridays."},
    {"_id": "d3", "title": "Tea", "text": "Anna drinks tea, never coffee."},
)
QUESTIONS = (
    {"_id": "q1", "text": "when are refresh tokens rotated"},
    {"_id": "q2", "text": "what is deployed on Fridays"},
    {"_id": "q3", "text": "who was the first king of Rome"},
)
JUDGED = ("q1\td1\t2", "q2\td2\t1", "q2\td1\t0", "q3\td3\t0")


def jsonl(rows: Iterable[Mapping[str, Any]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def written(
    folder: Path,
    documents: Iterable[Mapping[str, Any]] = DOCUMENTS,
    questions: Iterable[Mapping[str, Any]] = QUESTIONS,
    judged: Iterable[str] = JUDGED,
) -> Path:
    """A data set in BEIR's layout."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "corpus.jsonl").write_text(jsonl(documents), encoding="utf-8")
    (folder / "queries.jsonl").write_text(jsonl(questions), encoding="utf-8")
    lines = ["query-id\tcorpus-id\tscore", *judged]
    (folder / "qrels.tsv").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder
