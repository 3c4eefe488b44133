"""Look for `blend`'s weights that suit an embedder and a reranker, against the bundled models.

    python training/fit.py --bundled offered.pkl asked.json.xz logits.npz \
        --trained offered.pkl asked.json.xz logits.npz

Settings are drawn at random and chosen by the sets that choices are made on; the others tell what
they are worth. Each set counts the same. What ships is measured by benchmarks/quality.py.
"""

from __future__ import annotations

import argparse
import json
import lzma
import pickle
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from judge import gain

TOP = 20
QUESTION = re.compile(
    r"(who|whom|whose|what|when|where|which|why|how|did|do|does|is|are|was|were|can|could|should"
    r"|has|have|had|will)\b|.*\?\s*$",
    re.IGNORECASE | re.DOTALL,
)


class Weights(NamedTuple):
    """How many times a part counts as now; the reranker's own weights, and its bound."""

    vector: float = 1.0
    keyword: float = 1.0
    near: float = 1.0  # proximity and max_idf
    title: float = 1.0
    question: float = 0.25  # the reranker's weight where a question is asked
    other: float = 0.25
    bound: float = 10.0


CHOICES = Weights(
    (0.8, 1, 1.2, 1.4, 1.7), (0.8, 1, 1.2), (0.5, 0.75, 1, 1.25), (0.7, 1, 1.3),
    (0.25, 0.35, 0.5, 0.7, 1, 1.4, 2), (0.15, 0.25, 0.35, 0.5), (4, 6, 10),
)  # type: ignore[arg-type]  # fmt: skip
PARTS = {"vector": "vector", "keyword": "keyword", "proximity": "near", "max_idf": "near",
         "title": "title"}  # fmt: skip


def read(files: list[Path]) -> dict[str, Any]:
    """Each set with its half, and its questions with the logits of what was read of them."""
    sets = pickle.loads(files[0].read_bytes())
    asked = json.loads(lzma.decompress(files[1].read_bytes()))
    pairs = ((one["text"], text) for one in asked for text in one["texts"])
    logits = dict(zip(pairs, np.load(files[2])["logits"].tolist(), strict=True))
    for question in (question for one in sets.values() for question in one["questions"]):
        for place, one in enumerate(question["candidates"]):
            one["logit"] = logits.get((question["query"], one["text"])) if place < TOP else None
    return sets


def order(question: dict[str, Any], weights: Weights) -> list[str]:
    listed = question["candidates"]
    own = weights.question if QUESTION.match(question["query"]) else weights.other
    read = [one["logit"] for one in listed if one["logit"] is not None]
    least = min(read, default=0.0)

    def score(one: dict[str, Any]) -> float:
        logit = least if one["logit"] is None else one["logit"]
        more = sum((getattr(weights, name) - 1) * one["parts"].get(part, 0.0)
                   for part, name in PARTS.items())  # fmt: skip
        return one["score"] + more + own * max(-weights.bound, min(weights.bound, logit))

    return [one["id"] for one in sorted(listed, key=score, reverse=True)]


def quality(sets: dict[str, Any], weights: Weights) -> dict[str, np.ndarray]:
    return {
        name: np.array([gain(order(one, weights), one["grades"]) for one in each["questions"]])
        for name, each in sets.items()
    }


def interval(gains: list[np.ndarray], chance: np.random.Generator) -> np.ndarray:
    """95 % of the mean over the sets, the questions drawn anew within each."""
    drawn = [np.mean([chance.choice(one, len(one)).mean() for one in gains]) for _ in range(2000)]
    return np.percentile(drawn, (2.5, 97.5))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bundled", type=Path, nargs=3, required=True)
    parser.add_argument("--trained", type=Path, nargs=3, required=True)
    parser.add_argument("--draws", type=int, default=300)
    args = parser.parse_args()
    chance = np.random.default_rng(0)
    before, trained = quality(read(args.bundled), Weights()), read(args.trained)
    dev, held = ([name for name, one in trained.items() if one["half"] == half]
                 for half in ("dev", "held"))  # fmt: skip

    def over(weights: Weights) -> dict[str, np.ndarray]:
        return {name: now - before[name] for name, now in quality(trained, weights).items()}

    def on_dev(weights: Weights) -> float:
        found = over(weights)
        return float(np.mean([found[name].mean() for name in dev]))

    drawn = [Weights(*(chance.choice(values) for values in CHOICES)) for _ in range(args.draws)]
    best = max((Weights(), *drawn), key=on_dev)
    found = over(best)
    print(best)
    for half in (dev, held, [*dev, *held]):
        gains = [found[name] for name in half]
        low, high = interval(gains, chance)
        print(f"{len(half)} sets {np.mean([one.mean() for one in gains]):+.4f} "
              f"[{low:+.4f}, {high:+.4f}]")  # fmt: skip
    for name, each in found.items():
        print(f"{name:<28}{before[name].mean():.3f} {each.mean():+.3f}")


if __name__ == "__main__":
    main()
