"""Questions with the answer that a person would give, and whether a response gives it; pairs of
memories of which the newer replaces the older or not, and what the ranking believes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from recollect.engine.recollect import Recollect
from recollect.ingest.draft import make_draft
from recollect.query.replacement import Statement, replaced_by
from recollect.times import parse_time
from recollect.types import Response

# The day on which questions are asked that name no other.
ASKED_AT = "2026-11-16T12:00:00Z"


def questions(file: Path) -> list[dict[str, Any]]:
    """The questions of a file, one a line."""
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def is_right(question: dict[str, Any], response: Response) -> bool:
    """Return True if the response has everything that the question wants."""
    verdict = question.get("evidence", response.evidence)
    return is_in_order(question, response) and response.evidence == verdict


def is_in_order(question: dict[str, Any], response: Response) -> bool:
    """Return True if the results are those that the question wants, whatever the verdict."""
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


class JudgedPair(NamedTuple):
    """`half`: the misses of the pairs that are `fitted` were read when the rule was chosen."""

    half: str
    older: str
    newer: str
    replaced: bool
    claimed: bool


def judged_pairs(memory: Recollect, file: Path) -> list[JudgedPair]:
    """The pairs of a file, one a line, judged in this vault, which must be empty."""
    lines = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    drafts = []
    for number, line in enumerate(lines):
        for side in ("older", "newer"):
            fields = dict(line[side])
            date = f"{fields.pop('date')}T10:00:00Z"
            times = {"created_at": date, "updated_at": date}
            drafts.append(fields | times | {"id": f"{side}-{number}"})
    memory.save_all([make_draft(fields) for fields in drafts])
    memory.embed_now()
    store, identity = memory.session.store, memory.session.models.embedder().identity
    now = parse_time(ASKED_AT, "now")
    pairs = []
    for number, line in enumerate(lines):
        ids = [f"{side}-{number}" for side in ("older", "newer")]
        cosines = store.vectors.between(identity, ids)
        both = store.memories.get(ids)
        tokens = store.keyword.tokens
        claimed = replaced_by([Statement(each, tokens) for each in both.values()], cosines, now)
        older, newer = (
            line[side].get("title") or line[side]["text"] for side in ("older", "newer")
        )
        pairs.append(JudgedPair(line["half"], older, newer, line["replaced"], bool(claimed)))
    return pairs


def precision_and_recall(pairs: Iterable[JudgedPair]) -> tuple[float, float]:
    """The share of claimed replacements that are some, and the share of those that are claimed."""
    judged = list(pairs)
    right = sum(pair.claimed and pair.replaced for pair in judged)
    claimed = sum(pair.claimed for pair in judged)
    return right / max(claimed, 1), right / max(sum(pair.replaced for pair in judged), 1)
