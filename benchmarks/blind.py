"""Ask questions that were written without knowledge of a ranking's rules or its code.

    python benchmarks/blind.py [--recipe blend] [--model joint] [--half seen|unseen] [--missed]

Twelve vaults of 55 to 87 memories with 68 to 90 questions each, in `blind/`. Weights, limits and
rules were chosen with the eight of `seen`; those of `unseen` were written later, by another author,
and only confirm a choice. `blind/replacement_pairs.jsonl` and `…_2.jsonl` have 250 pairs of
statements; in 114 of them the newer statement replaces the older.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter, defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from recollect import Recollect
from recollect.settings import Embedding, Rerank, Settings

FOLDER = Path(__file__).parent / "blind"
HALVES = {
    "seen": ("dev", "home", "research", "wiki", "agent", "school", "ops", "author"),
    "unseen": ("clinic", "backend", "cooperative", "datateam"),
}
NOW = datetime(2026, 11, 18, 10, tzinfo=UTC)


def rows(name: str, file: str) -> list[dict[str, Any]]:
    lines = (FOLDER / name / file).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


Answer = tuple[dict[str, Any], list[str], str]


def ask(name: str, recipe: str, model: str) -> list[Answer]:
    """Yield each question of a vault with the ids of the answer, best first, and its verdict."""
    settings = Settings(
        embedding=Embedding(model=model),
        rerank=Rerank(budget_ms=60_000),  # the deadline is far
    )
    with (
        tempfile.TemporaryDirectory() as home,
        Recollect(home=home, settings=settings, environment={}, clock=lambda: NOW) as memory,
    ):
        for row in rows(name, "memories.jsonl"):
            memory.save(**row)
        memory.reindex()
        answers: list[Answer] = []
        for question in rows(name, "questions.jsonl"):
            response = memory.search(question["question"], recipe=recipe)
            ids = [result.id for result in response]
            answers.append((question, ids, response.evidence or "no verdict"))
        return answers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recipe", default="blend")
    parser.add_argument("--model", default="", help="the bundled embedding model, such as joint")
    parser.add_argument("--half", choices=HALVES, help="one half only")
    parser.add_argument("--missed", action="store_true", help="print what was not first")
    args = parser.parse_args()
    for half, names in HALVES.items():
        if args.half in (None, half):
            answers = [answer for name in names for answer in ask(name, args.recipe, args.model)]
            report(half, answers, missed=args.missed)


def report(half: str, answers: list[Answer], *, missed: bool) -> None:
    places: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    for question, ids, evidence in answers:
        right = [id in question["answers"] for id in ids[:3]]
        first = right[:1] == [True]
        if not question["answers"]:
            verdicts[evidence]["unanswerable"] += 1
            continue
        verdicts[evidence]["right" if first else "wrong"] += 1
        for kind in ("all", question["kind"]):
            places[kind].append((first, any(right)))
        if missed and not first:
            print(f"{question['kind']}: {question['question']} → {ids[:3]}, {evidence}")
    print(f"{half}: first place, among the first three")
    for kind, listed in sorted(places.items()):
        best, three = (sum(column) / len(listed) for column in zip(*listed, strict=True))
        print(f"  {kind:12} {best:4.0%} {three:4.0%}  of {len(listed)}")
    for evidence, counts in sorted(verdicts.items()):
        print(f"  {evidence}: {', '.join(f'{what} {n}' for what, n in counts.items())}")


if __name__ == "__main__":
    main()
