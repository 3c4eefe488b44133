"""Pairs of memories of which the newer replaces the older or not, and what the ranking believes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from recollect.engine.door import Recollect
from recollect.evals.answers import ASKED_AT
from recollect.ingest.draft import draft
from recollect.query.replacement import replaced_by
from recollect.times import parse_time


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
    memory.save_all([draft(fields) for fields in drafts])
    memory.embed_now()
    store, identity = memory.session.store, memory.session.models.embedder().identity
    now = parse_time(ASKED_AT, "now")
    pairs = []
    for number, line in enumerate(lines):
        ids = [f"{side}-{number}" for side in ("older", "newer")]
        cosines = store.vectors.between(identity, ids)
        both = store.memories.get(ids)
        claimed = replaced_by(both.values(), cosines, store.keyword.tokens, now)
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
