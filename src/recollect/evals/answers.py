"""Questions with the answer that a person would give, and whether a response gives it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from recollect.types import Response

# The day on which questions are asked that name no other.
ASKED_AT = "2026-11-16T12:00:00Z"


def questions(file: Path) -> list[dict[str, Any]]:
    """The questions of a file, one a line."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def is_right(question: dict[str, Any], response: Response) -> bool:
    """Whether the response has everything that the question wants."""
    verdict = question.get("evidence", response.evidence)
    return is_in_order(question, response) and response.evidence == verdict


def is_in_order(question: dict[str, Any], response: Response) -> bool:
    """Whether the results are what the question wants, whatever the verdict."""
    ids = [result.id for result in response]
    first = question.get("first", ids[:1])
    listed = question.get("all", [])
    best = ids[: len(listed)]
    upper, lower = question.get("above", (None, None))
    return (
        bool(set(ids[:1]) & set([first] if isinstance(first, str) else first)
             or "first" not in question)
        and (sorted(best) == sorted(listed) if question.get("any_order") else best == listed)
        and not set(question.get("never", ())) & set(ids)
        and (lower not in ids or (upper in ids and ids.index(upper) < ids.index(lower)))
    )  # fmt: skip
