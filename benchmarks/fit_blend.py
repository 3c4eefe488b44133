"""Fit the weights of `blend`, and measure the value of each feature and the reliability of the
verdict.

    python benchmarks/fit_blend.py --data ../shared/data [--rerank]

The judged sets are cut into vaults of 30 to 1,000 memories, several of each size, and also asked
whole, so that small vaults count as much as large ones. In each vault some questions have their
documents and some do not; of a whole set only questions with an answer are asked. The product
answers them; its explanations are the features. Weights come from the sets in FITTED: a listwise
softmax orders candidates, a logistic loss tells answers from others, both with a ridge. Then the
sum is put on the scale of log odds by the first results alone. The sets in HELD_OUT measure the
outcome. Each set counts the same. Vectors are taken from the evaluation's cache
(benchmarks/fill_cache.py), or made. `--blind DIR` measures a folder of vaults with questions that
were written without knowledge of the rules. The outcome is written to results/fit.json, and the
recipe's numbers are chosen from it by hand: rounded, and less confident than FITTED alone suggests,
since on other sets and on questions written blind (benchmarks/blind.py, its half `seen`) the same
score is right less often.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec.structs import replace

from data import data_argument
from recollect.recipes.base import Recipe
from recollect.recipes.registry import BUILT_IN
from recollect.settings import Embedding, Rerank, Settings
from recollect.stages.base import Stage
from recollect.stages.ending import Cut
from recollect.stages.rerank import RerankInterpolation
from recollect.stages.signal_sums import Bonus
from recollect.types import Filter, Term
from recollect_evaluation.cache import FILE, Cache, cache_folder
from recollect_evaluation.datasets import Dataset, Question, load
from recollect_evaluation.evaluation import open_evaluation

FITTED = ("longmemeval-oracle-turns", "hotpotqa-1k", "qed-nq", "cranfield", "locomo")
HELD_OUT = ("beam-100k", "chroma-chunking", "cacm", "xquad")
RESULT = Path(__file__).parent / "results" / "fit.json"
# How many vaults of each size are cut from a set.
SIZES = {30: 3, 60: 3, 120: 2, 300: 1, 1000: 1}
# Of the memories of a vault the answers are at most this share; half of the others are neighbours.
ANSWERS, NEIGHBOURS = 0.5, 0.5
MOST_ANSWERS = 6  # a question with more is about a topic
WHOLE = 60  # questions that are asked of a whole set,
MOST_WHOLE = 10_000  # unless it is larger: embedding takes hours
CANDIDATES = 30  # that are logged of each question
ALL = ("keyword", "bm25", "vector", "person", "exact")
ALONE = ("keyword", "bm25", "person", "exact")
RIDGE = 0.001
STEPS, RATE = 600, 0.1
# A set of many languages: its English part.
LANGUAGE = "en"


class Row(NamedTuple):
    """One question: its set, the vault's size, the features of each candidate, which candidates are
    answers, and the number of answers in the vault."""

    set: str
    size: int
    features: np.ndarray
    right: np.ndarray
    answers: int


def cut(name: str, dataset: Dataset, chance: random.Random) -> Iterator[tuple[Dataset, list[str]]]:
    """Return vaults of one set, each with the ids of the questions to ask; the documents of a third
    of them are left out."""
    groups: dict[str, list[str]] = {}
    for id, document in dataset.documents.items():
        groups.setdefault(str(document.fields.get("space") or ""), []).append(id)
    asked = [
        question for question in dataset.scored if len(relevant(dataset, question)) <= MOST_ANSWERS
    ]
    for size, count in SIZES.items():
        for _ in range(count):
            wide = [key for key, ids in groups.items() if len(ids) >= size]
            if name == "xquad":
                wide = [key for key in wide if key == LANGUAGE]
            if not wide:
                continue
            key = chance.choice(wide)
            own = [one for one in asked if not dataset.grouped or one.group == key]
            if own:
                yield _vault(dataset, groups[key], own, size, chance)
    if len(dataset.documents) <= MOST_WHOLE:
        whole = chance.sample(asked, min(WHOLE, len(asked)))
        yield dataset, [question.id for question in whole]


def relevant(dataset: Dataset, question: Question) -> set[str]:
    grades = dataset.grades[question.id]
    return {id for id, grade in grades.items() if grade > 0 and id in dataset.documents}


def _vault(
    dataset: Dataset,
    ids: Sequence[str],
    asked: Sequence[Question],
    size: int,
    chance: random.Random,
) -> tuple[Dataset, list[str]]:
    shuffled = chance.sample(list(asked), len(asked))
    chosen: set[str] = set()
    answered = []
    for question in shuffled[: max(6, min(size // 8, 40))]:
        documents = relevant(dataset, question)
        if len(chosen | documents) <= ANSWERS * size:
            chosen |= documents
            answered.append(question.id)
    start = chance.randrange(len(ids))
    room = size - len(chosen)
    near = [id for id in (*ids[start:], *ids[:start]) if id not in chosen]
    chosen |= {*near[: int(room * NEIGHBOURS)]}
    rest = [id for id in ids if id not in chosen]
    chosen |= {*chance.sample(rest, min(len(rest), size - len(chosen)))}
    absent = [one.id for one in shuffled if not relevant(dataset, one) & chosen]
    questions = answered + absent[: max(3, len(answered) // 2)]
    part = replace(
        dataset,
        documents={id: one for id, one in dataset.documents.items() if id in chosen},
        questions={id: dataset.questions[id] for id in questions},
    )
    return part, questions


def logging_recipe(*, rerank: bool) -> Recipe:
    """Return `blend` without the steps that order results by other reasons than the features."""
    blend = BUILT_IN["blend"]
    stages: list[Stage] = [one for one in blend.stages if isinstance(one, Bonus)]
    if rerank:
        stages += [one for one in blend.stages if isinstance(one, RerankInterpolation)]
    return replace(blend, stages=(*stages, Cut()))


def log(name: str, data: Path, cache: Cache, *, vectors: bool, rerank: bool) -> list[Row]:
    """Log the features of each candidate of each question in the vaults of a set."""
    chance = random.Random(name)
    settings = Settings(
        embedding=Embedding(provider="builtin" if vectors else "none"),
        rerank=Rerank(provider="builtin" if rerank else "none"),
    )
    recipe = logging_recipe(rerank=rerank)
    names = (*(ALL if vectors else ALONE), *(("rerank",) if rerank else ()))
    rows = []
    for part, questions in cut(name, load(data / name), chance):
        with open_evaluation(part, settings, os.environ, cache) as bench:
            bench.prepare(silent, vectors=vectors)
            for id in questions:
                question = part.questions[id]
                answers = relevant(part, question)
                whole = part.candidates is not None or len(part.documents) > max(SIZES)
                found = bench.memory.run_recipe(
                    recipe, question.text, limit=CANDIDATES,
                    filter=bench.filter(question) if whole else Filter(), now=question.asked_at,
                    literal=True,
                )  # fmt: skip
                listed = [(values(one.explain, names), one.id in answers) for one in found.results]
                if listed:
                    features, right = zip(*listed, strict=True)
                    rows.append(
                        Row(name, len(part.documents), np.array(features), np.array(right, float),
                            len(answers))
                    )  # fmt: skip
    print(f"{name}: {len(rows)} questions", flush=True)
    return rows


@contextmanager
def silent(what: str, steps: int) -> Iterator[Callable[[int], None]]:
    yield lambda done: None


def values(term: Term, names: Sequence[str]) -> list[float]:
    """Return the raw value of each feature; 0 if the explanation does not have it."""
    raw = {leaf.name: leaf.raw or 0.0 for leaf in term.leaves()}
    return [raw.get(name, 0.0) for name in names]


class Fit(NamedTuple):
    """The weight of each feature, and the constant term."""

    names: tuple[str, ...]
    weights: np.ndarray
    base: float

    def scores(self, row: Row) -> np.ndarray:
        scores: np.ndarray = row.features @ self.weights + self.base
        return scores


def fitted(rows: Sequence[Row], names: Sequence[str], use: Sequence[str]) -> Fit:
    """Fit weights for the features in `use`; the others get 0."""
    kept = np.array([name in use for name in names], float)
    counts = Counter((row.set, row.answers > 0) for row in rows)
    shares = np.array([1 / counts[row.set, row.answers > 0] for row in rows])
    features = np.zeros((len(rows), CANDIDATES, len(names)))
    right, there = np.zeros((2, len(rows), CANDIDATES))
    for at, row in enumerate(rows):
        features[at, : len(row.right)] = row.features
        right[at, : len(row.right)] = row.right
        there[at, : len(row.right)] = 1.0
    answered = right.sum(1, keepdims=True)
    wanted = np.divide(right, answered, out=np.zeros_like(right), where=answered > 0)
    weights, base = np.zeros(len(names)), -3.0
    first = second = np.zeros(len(names) + 1)
    for step in range(1, STEPS + 1):
        scores = features @ weights + base
        single = there * (1 / (1 + np.exp(-scores)) - right) / there.sum(1, keepdims=True)
        power = there * np.exp(scores - scores.max(1, keepdims=True))
        listed = (answered > 0) * (power / power.sum(1, keepdims=True) - wanted)
        errors = shares[:, None] * (single + listed)
        slope = np.append(
            kept * (np.einsum("qc,qcf->f", errors, features) + RIDGE * weights),
            float((shares[:, None] * single).sum()),
        )
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        move = RATE * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-9)
        weights, base = weights - move[:-1], base - float(move[-1])
    return calibrated(rows, shares, Fit(tuple(names), weights, base))


def calibrated(rows: Sequence[Row], shares: np.ndarray, fit: Fit) -> Fit:
    """Return the fit on the scale of log odds, by its first results alone."""
    best = [int(np.argmax(fit.scores(row))) for row in rows]
    score = np.array([fit.scores(row)[at] for row, at in zip(rows, best, strict=True)])
    right = np.array([row.right[at] for row, at in zip(rows, best, strict=True)])
    share = shares / shares.sum()
    slope, offset = 1.0, 0.0
    for _ in range(4000):
        odds = 1 / (1 + np.exp(-(slope * score + offset)))
        error = share * (odds - right)
        slope -= 0.05 * float(error @ score)
        offset -= 0.5 * float(error.sum())
    return Fit(fit.names, fit.weights * slope, fit.base * slope + offset)


def measured(rows: Sequence[Row], fit: Fit) -> dict[str, Any]:
    """Return the share of right first places and nDCG@10, the mean over the sets."""
    found: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if not row.answers:
            continue
        right = row.right[np.argsort(-fit.scores(row), kind="stable")]
        gains = 1 / np.log2(np.arange(2, 12))
        ndcg = float(right[:10] @ gains[: len(right[:10])] / gains[: row.answers].sum())
        found.setdefault(row.set, []).append((right[0], ndcg))
    means = {name: np.mean(pairs, axis=0) for name, pairs in found.items()}
    total = np.mean(list(means.values()), axis=0)
    return {
        "first": round(float(total[0]), 4),
        "ndcg@10": round(float(total[1]), 4),
        "sets": {name: round(float(mean[1]), 4) for name, mean in means.items()},
    }


def verdicts(rows: Sequence[Row], fit: Fit) -> list[dict[str, Any]]:
    """Return by the confidence of the first result, in tenths: the number of questions, the share
    with a right first result, and the share without any answer."""
    tenths: dict[int, list[tuple[float, bool]]] = {}
    for row in rows:
        scores = fit.scores(row)
        at = int(np.argmax(scores))
        odds = 1 / (1 + np.exp(-scores[at]))
        tenths.setdefault(min(int(odds * 20), 19), []).append((row.right[at], not row.answers))
    return [
        {
            "from": tenth / 20,
            "questions": len(listed),
            "right": round(float(np.mean([right for right, _ in listed])), 3),
            "unanswerable": round(float(np.mean([absent for _, absent in listed])), 3),
        }
        for tenth, listed in sorted(tenths.items())
    ]


def lost_without(rows: Sequence[Row], held: Sequence[Row], names: Sequence[str]) -> dict[str, Any]:
    """Return for each feature the loss of nDCG@10 of the held-out sets without it, with the
    interval of 1,000 resamples of their questions."""
    whole = fitted(rows, names, names)
    chance = np.random.default_rng(0)
    found = {}
    for name in names:
        less = fitted(rows, names, [other for other in names if other != name])
        differences = np.array(
            [
                measured([row], whole)["ndcg@10"] - measured([row], less)["ndcg@10"]
                for row in held
                if row.answers
            ]
        )
        means = [chance.choice(differences, len(differences)).mean() for _ in range(1000)]
        found[name] = {
            "lost": round(float(differences.mean()), 4),
            "ci95": [round(float(np.quantile(means, one)), 4) for one in (0.025, 0.975)],
        }
    return found


def rounded(fit: Fit) -> dict[str, float]:
    weights = zip(fit.names, fit.weights, strict=True)
    return {name: round(float(weight), 2) for name, weight in weights} | {
        "base": round(fit.base, 2)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument(
        "--rows", type=Path, help="keep what was logged here, and take it from here"
    )
    parser.add_argument("--rerank", action="store_true", help="fit the reranker's weight as well")
    args = parser.parse_args()
    cache = Cache(cache_folder(os.environ) / FILE)
    outcome: dict[str, Any] = {}
    for way, vectors in (("with vectors", True), ("words alone", False)):
        rerank = args.rerank and vectors
        names = (*(ALL if vectors else ALONE), *(("rerank",) if rerank else ()))
        kept = args.rows and args.rows.with_name(f"{args.rows.name}-{way.replace(' ', '-')}.pkl")
        if kept and kept.exists():
            rows, held = pickle.loads(kept.read_bytes())
        else:
            rows, held = (
                [
                    row
                    for name in sets
                    for row in log(name, args.data, cache, vectors=vectors, rerank=rerank)
                ]
                for sets in (FITTED, HELD_OUT)
            )
            if kept:
                kept.write_bytes(pickle.dumps((rows, held)))
        fit = fitted(rows, names, names)
        outcome[way] = {
            "weights": {
                name: round(float(w), 2) for name, w in zip(names, fit.weights, strict=True)
            },
            "base": round(fit.base, 2),
            "on all sets": rounded(fitted([*rows, *held], names, names)),
            "fitted": measured(rows, fit),
            "held out": measured(held, fit),
            "lost without": lost_without(rows, held, names),
            "verdicts, held out": verdicts(held, fit),
        }
        print(json.dumps(outcome[way], indent=1))
    RESULT.write_text(json.dumps(outcome, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
