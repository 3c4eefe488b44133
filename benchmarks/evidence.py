"""How well `evidence` tells questions that can be answered from those that cannot.

Each question of a set with groups or candidates is asked of its own memories and of another
question's, where nothing answers it; questions that a set marks as having no answer are asked of
their own. The area under the curve is that of `confidence`; results go to results/evidence.json,
and docs/quality.md shows them.
"""

from __future__ import annotations

import argparse
import json
import os
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from data import data_argument
from recollect.evals.cache import Cache, cache_folder
from recollect.evals.datasets import Question
from recollect.evals.evaluation import Evaluation, opened
from recollect.recipes.registry import BUILT_IN
from recollect.settings import Embedding, Rerank, Settings
from recollect.stages.evidence import JudgeEvidence
from recollect.types import Filter, Response

RECIPE = BUILT_IN["blend"]
RESULTS = Path(__file__).parent / "results" / "evidence.json"
# Where the conversations, documents or haystacks are kept apart.
SETS = ("locomo", "longmemeval-s-snippets", "beam-100k", "chroma-chunking")
WAYS = {
    "read by the cross-encoder": Settings(),
    "vectors and words": Settings(rerank=Rerank(provider="none")),
    "words alone": Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none")),
}
LEVELS = ("strong", "weak", "none")
SEED = 3


class Asked(NamedTuple):
    """One answer's confidence and evidence."""

    confidence: float
    evidence: str


class Measured(NamedTuple):
    """The answers of one set in one way: from the question's own memories, from those of another,
    and to questions that have no answer."""

    own: list[Asked]
    other: list[Asked]
    unanswerable: list[Asked]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--questions", type=int, default=300, help="of each set, at most")
    args = parser.parse_args()
    cache = Cache(cache_folder(os.environ) / "eval.db")
    measured: dict[tuple[str, str], Measured] = {}
    for name in SETS:
        if not (args.data / name).is_dir():
            print(f"{name}: not in {args.data}, left out.")
            continue
        for way, settings in WAYS.items():
            measured[name, way] = one = asked(args.data / name, settings, cache, args.questions)
            print(f"{name}, {way}: {area(one.own, one.other):.3f}", flush=True)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_bytes(
        msgspec.json.format(msgspec.json.encode(report(measured)), indent=1) + b"\n"
    )


def asked(folder: Path, settings: Settings, cache: Cache, count: int) -> Measured:
    """Ask so many questions, the same in every way."""
    draw = random.Random(SEED)
    with opened(folder, settings, os.environ, cache) as bench:
        bench.prepare(_quiet, vectors=settings.embedding.provider != "none")
        empty = _unanswerable(folder)
        scored = [question for question in bench.dataset.scored if question.id not in empty]
        chosen = draw.sample(scored, min(count, len(scored)))
        own = [_asked(bench, question, bench.filter(question)) for question in chosen]
        others = [_elsewhere(bench, question, scored, draw) for question in chosen]
        wrong = [
            _asked(bench, question, where) for question, where in zip(chosen, others, strict=True)
        ]
        unanswerable = [
            _asked(bench, question, bench.filter(question))
            for id, question in bench.dataset.questions.items()
            if id in empty
        ]
    return Measured(own, wrong, unanswerable)


def _unanswerable(folder: Path) -> set[str]:
    """Questions that the set itself marks as having no answer."""
    rows = map(json.loads, (folder / "queries.jsonl").read_text("utf-8").splitlines())
    return {
        str(row["_id"])
        for row in rows
        if row.get("abstention") is True or row.get("category") == "abstention"
    }


def _elsewhere(
    bench: Evaluation, question: Question, others: Sequence[Question], draw: random.Random
) -> Filter:
    """The memories of another question that shares none of this one's answers."""
    while True:
        other = draw.choice(others)
        if other.id != question.id and (not question.group or other.group != question.group):
            return bench.filter(other)


def _asked(bench: Evaluation, question: Question, where: Filter) -> Asked:
    response: Response = bench.response(RECIPE, question, where)
    return Asked(response.confidence or 0.0, response.evidence or "none")


def area(yes: Sequence[Asked], no: Sequence[Asked]) -> float:
    """The area under the curve: how often an answerable question has the larger confidence."""
    ours = np.array([one.confidence for one in yes])[:, None]
    theirs = np.array([one.confidence for one in no])[None, :]
    return float((ours > theirs).mean() + (ours == theirs).mean() / 2)


def curve(yes: Sequence[Asked], no: Sequence[Asked]) -> list[list[float]]:
    """(false, true) positives at every threshold that changes either, at most some fifty."""
    steps = sorted({one.confidence for one in (*yes, *no)}, reverse=True)
    steps = steps[:: max(1, len(steps) // 50)]
    points = [[_share(no, step), _share(yes, step)] for step in steps]
    return [[0.0, 0.0], *points, [1.0, 1.0]]


def _share(answers: Sequence[Asked], least: float) -> float:
    return round(sum(one.confidence >= least for one in answers) / len(answers), 4)


def report(measured: dict[tuple[str, str], Measured]) -> dict[str, Any]:
    curves: dict[str, Any] = {}
    levels: dict[str, Any] = {}
    for way in WAYS:
        sets = {name: one for (name, how), one in measured.items() if how == way}
        own = [one for each in sets.values() for one in each.own]
        other = [one for each in sets.values() for one in each.other]
        empty = [one for each in sets.values() for one in each.unanswerable]
        curves[f"{way}: all sets, another conversation"] = _curve(own, other)
        curves[f"{way}: all sets, another conversation or no answer"] = _curve(own, other + empty)
        for name, one in sets.items():
            curves[f"{way}: {name}, another conversation"] = _curve(one.own, one.other)
            if one.unanswerable:
                curves[f"{way}: {name}, no answer"] = _curve(one.own, one.unanswerable)
        levels[f"{way}: its own memories"] = _levels(own)
        levels[f"{way}: another conversation's"] = _levels(other)
        if empty:
            levels[f"{way}: questions without an answer"] = _levels(empty)
    [rule] = [stage for stage in RECIPE.stages if isinstance(stage, JudgeEvidence)]
    return {
        "recipe": RECIPE.name,
        "fingerprint": RECIPE.fingerprint,
        "thresholds": {"strong": rule.strong, "weak": rule.weak},
        "curves": curves,
        "levels": levels,
    }


def _curve(yes: Sequence[Asked], no: Sequence[Asked]) -> dict[str, Any]:
    return {
        "auc": round(area(yes, no), 4),
        "positives": len(yes),
        "negatives": len(no),
        "points": curve(yes, no),
    }


def _levels(answers: Sequence[Asked]) -> dict[str, float]:
    counts = {level: sum(one.evidence == level for one in answers) for level in LEVELS}
    return {level: round(count / len(answers), 4) for level, count in counts.items()}


@contextmanager
def _quiet(what: str, count: int) -> Iterator[Any]:
    yield lambda done: None


if __name__ == "__main__":
    main()
