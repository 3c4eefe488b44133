"""How far one can trust `evidence`: strong, weak, none.

Each question of a judged set is asked of its set (`answerable`); questions of the other sets are
asked of it (`elsewhere`: nothing there answers them); where one document answers a question, half
of the questions are asked once more of the set without their documents (`taken out`, with the rest
of the article for xquad: what remains is near); questions that a set marks as having no answer are
`marked`. A question's id decides whether `--fit` fits rules on it or results/evidence.json, which
docs/quality.md shows, has it. The rules in use are older than this split: they were fitted on
another half of these sets without hotpotqa-1k, and rounded.
Asked without a reranker: the verdict does not depend on it.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from data import data_argument
from recollect.evals.cache import Cache, cache_folder
from recollect.evals.datasets import Dataset, Question, load
from recollect.evals.evaluation import Evaluation, opened
from recollect.recipes.base import Recipe
from recollect.recipes.registry import BUILT_IN
from recollect.settings import Rerank, Settings
from recollect.stages.evidence import EvidenceRule, JudgeEvidence, Signs
from recollect.types import Filter

RECIPE = BUILT_IN["blend"]
[RULE] = [stage for stage in RECIPE.stages if isinstance(stage, JudgeEvidence)]
RESULTS = Path(__file__).parent / "results" / "evidence.json"
SETS = ("qed-nq", "xquad", "locomo", "hotpotqa-1k", "chroma-chunking", "cranfield", "cacm")
# Of the others' questions many documents of the set tell something, not only the judged ones.
ONE_ANSWERS = ("qed-nq", "xquad", "locomo", "hotpotqa-1k")
MARKED = ("longmemeval-oracle-turns", "beam-100k")
# Each question of xquad is there in every language, of which these have the Latin script.
LATIN = ("de", "es", "ro", "tr", "vi")
KINDS = ("answerable", "elsewhere", "taken out", "marked")
LEVELS = ("strong", "weak", "none")
WAYS = ("vectors and words", "words alone")
FIRST = 5  # results that people look at
BINS = 10


class Asked(NamedTuple):
    """A question of one kind, what spoke for each candidate, and the place of the first answer."""

    set: str
    kind: str
    id: str
    place: int | None
    signs: list[Signs]

    @property
    def held_out(self) -> bool:
        return _hash("half", self.id) % 2 == 1

    def by(self, way: str) -> list[Signs]:
        """The signs as they are, or without a cosine."""
        if way == WAYS[0]:
            return self.signs
        return [signs._replace(cosine=None) for signs in self.signs]


class Recording(JudgeEvidence, frozen=True, tag="recording"):
    """Keeps what it judged by."""

    def signs(self, context: Any) -> list[Signs]:
        SEEN.append(super().signs(context))
        return SEEN[-1]


SEEN: list[list[Signs]] = []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    data_argument(parser)
    parser.add_argument("--questions", type=int, default=300, help="of each set, at most")
    parser.add_argument("--sets", nargs="*", default=[*SETS, *MARKED], help="only these sets")
    parser.add_argument("--kept", type=Path, help="a folder for what was asked, to fit again")
    parser.add_argument("--fit", action="store_true", help="print rules fitted on the other half")
    args = parser.parse_args()
    asked: list[Asked] = []
    for name in args.sets:
        kept = args.kept and args.kept / f"{name}.json"
        if kept and kept.is_file():
            asked += msgspec.json.decode(kept.read_bytes(), type=list[Asked])
        elif (args.data / name).is_dir():
            found = list(ask_all(args.data, name, args.questions))
            print(f"{name}: {len(found)} asked", flush=True)
            if kept:
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_bytes(msgspec.json.encode(found))
            asked += found
        else:
            print(f"{name}: not in {args.data}, left out.")
    if args.fit:
        fit(asked)
        return
    found_json = msgspec.json.encode(report([one for one in asked if one.held_out]))
    RESULTS.write_bytes(msgspec.json.format(found_json, indent=1) + b"\n")


# Asking


def ask_all(data: Path, name: str, count: int) -> Iterator[Asked]:
    """Every kind of question of one set."""
    folder = data / name
    dataset = load(folder)
    marked = _marked(folder)
    scored = [question for question in dataset.scored if question.id not in marked]
    chosen = sorted(scored, key=lambda question: _hash("choice", question.id))[:count]
    places = [one for one in chosen if name != "xquad" or one.group == "en"]
    recipe = msgspec.structs.replace(RECIPE, stages=tuple(map(_recording, RECIPE.stages)))
    with _vault(folder, dataset, frozenset()) as bench:
        if name in SETS:
            yield from (_asked(bench, recipe, one, "answerable") for one in chosen)
            for question in _of_others(data, name, count):
                where = bench.filter(places[_hash("where", question.id) % len(places)])
                yield _asked(bench, recipe, question, "elsewhere", where)
        yield from (
            _asked(bench, recipe, one, "marked")
            for id, one in dataset.questions.items()
            if id in marked
        )
    for part in (0, 1) if name in ONE_ANSWERS else ():
        gone = _taken_out(dataset, chosen, part)
        with _vault(folder, dataset, gone) as bench:
            for question in chosen:
                if gone.issuperset(_answers(dataset, question)):
                    yield _asked(bench, recipe, question, "taken out")


def _recording(stage: Any) -> Any:
    if not isinstance(stage, JudgeEvidence):
        return stage
    return Recording(**{field: getattr(stage, field) for field in stage.__struct_fields__})


@contextmanager
def _vault(folder: Path, dataset: Dataset, gone: frozenset[str]) -> Iterator[Evaluation]:
    """The set's documents in a vault, without some; what asks no reranker asks no deadline."""
    cache = Cache(cache_folder(os.environ) / "eval.db")
    with opened(folder, Settings(rerank=Rerank(provider="none")), os.environ, cache) as bench:
        for id in gone:
            del bench.dataset.documents[id]
        bench.prepare(_quiet, vectors=True)
        yield bench


def _asked(
    bench: Evaluation, recipe: Recipe, question: Question, kind: str, where: Filter | None = None
) -> Asked:
    SEEN.clear()
    where = where or bench.filter(question)
    response = bench.response(recipe, question, where)
    right = _answers(bench.dataset, question) if kind == "answerable" else set()
    found = [{hit.id, *(memory.id for memory in hit.same)} for hit in response]
    places = (place for place, ids in enumerate(found, 1) if ids & right)
    name = bench.dataset.name
    if name == "xquad" and where.space != "en":
        name += ", other Latin" if where.space in LATIN else ", other scripts"
    return Asked(name, kind, question.id, next(places, None), [*SEEN[:1], []][0])


def _of_others(data: Path, name: str, count: int) -> list[Question]:
    """Questions in English of the other sets, as many of each."""
    others = [other for other in SETS if other != name and (data / other).is_dir()]
    found: list[Question] = []
    for other in others:
        questions = load(data / other).scored
        if other == "xquad":
            questions = [one for one in questions if one.group == "en"]
        questions.sort(key=lambda one: _hash("choice", one.id))
        found += questions[: count // len(others)]
    return [msgspec.structs.replace(one, asked_at=None) for one in found]


def _taken_out(dataset: Dataset, chosen: Sequence[Question], part: int) -> frozenset[str]:
    """The documents that answer half of the questions; of xquad, whole articles."""
    if dataset.name == "xquad":  # five paragraphs of an article follow each other
        articles = {id: str(int(id.partition("/")[2]) // 5) for id in dataset.documents}
        return frozenset(id for id, name in articles.items() if _hash("part", name) % 2 == part)
    gone = [one for one in chosen if _hash("part", one.id) % 2 == part]
    return frozenset(id for one in gone for id in _answers(dataset, one) if id in dataset.documents)


def _answers(dataset: Dataset, question: Question) -> set[str]:
    return {id for id, grade in dataset.grades.get(question.id, {}).items() if grade > 0}


def _marked(folder: Path) -> set[str]:
    """Questions that the set itself marks as having no answer."""
    rows = map(json.loads, (folder / "queries.jsonl").read_text("utf-8").splitlines())
    return {
        str(row["_id"])
        for row in rows
        if row.get("abstention") is True or row.get("category") == "abstention"
    }


def _hash(purpose: str, id: str) -> int:
    return int.from_bytes(sha256(f"{purpose} {id}".encode()).digest()[:4])


@contextmanager
def _quiet(what: str, count: int) -> Iterator[Any]:
    yield lambda done: None


# Fitting


def fit(asked: Sequence[Asked]) -> None:
    """Print both rules, by logistic regression on questions whose answer stands first and on those
    without one, every set and both sorts with the same weight; and what thresholds would do."""
    known = [one for one in asked if one.signs and not one.held_out]
    for way in WAYS:
        rows = [one for one in known if way in WAYS[1:] or one.signs[0].cosine is not None]
        rows = [one for one in rows if one.kind != "answerable" or one.place == 1]
        right = np.array([one.kind == "answerable" for one in rows])
        cells = [(one.set, one.kind == "answerable") for one in rows]
        weights = np.array([1 / cells.count(cell) for cell in cells])
        rule = EvidenceRule(bias=-17.0, coverage=7.0, cosine=22.0 if way == WAYS[0] else 0.0)
        for _ in range(5):  # which candidate speaks loudest depends on the rule
            best = [max(one.by(way), key=rule.confidence) for one in rows]
            table = np.array([[1.0, one.distinct, one.cosine or 0.0] for one in best])
            if way != WAYS[0]:
                table = table[:, :2]
            rule = EvidenceRule(*map(float, _logistic_fit(table, right, weights)))
        print(way, rule)
        confidence = np.array([rule.confidence(one) for one in best])
        for threshold in (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95):
            above = {
                kind: np.mean([
                    np.mean(confidence[[one.set == name and one.kind == kind for one in rows]]
                            >= threshold)
                    for name in {one.set for one in rows if one.kind == kind}
                ])
                for kind in KINDS if any(one.kind == kind for one in rows)
            }  # fmt: skip
            print(threshold, {kind: round(float(share), 3) for kind, share in above.items()})


def _logistic_fit(table: Any, right: Any, weights: Any) -> Any:
    """Newton's method, with so little of a ridge that it only keeps separable data finite."""
    found = np.zeros(table.shape[1])
    for _ in range(50):
        share = 1 / (1 + np.exp(-table @ found))
        slope = table.T @ (weights * (right - share)) - 1e-3 * found
        bend = (table * (weights * share * (1 - share))[:, None]).T @ table
        found = found + np.linalg.solve(bend + 1e-3 * np.eye(len(found)), slope)
    return found


# Reporting


def report(asked: Sequence[Asked]) -> dict[str, Any]:
    judged = {
        way: [(one, *RULE.verdict(one.by(way))) for one in asked if one.signs] for way in WAYS
    }
    return {
        "recipe": RECIPE.name,
        "fingerprint": RECIPE.fingerprint,
        "thresholds": {"strong": RULE.strong, "weak": RULE.weak},
        "reliability": {way: reliability(rows) for way, rows in judged.items()},
        "levels": {
            f"{way}: {name}, {kind}": _levels([level for one, _, level in rows
                                              if one.set == name and one.kind == kind])
            for way, rows in judged.items()
            for kind in KINDS
            for name in dict.fromkeys(one.set for one, _, _ in rows if one.kind == kind)
        },
        "aims": {way: aims(rows) for way, rows in judged.items()},
    }  # fmt: skip


Judged = tuple[Asked, float, str]


def aims(rows: Sequence[Judged]) -> dict[str, dict[str, float]]:
    """By set: of strong verdicts on as many answerable questions as ones from elsewhere, how many
    have the answer in the vault, among the first five, first; of questions without an answer how
    many get none; and of those answered first."""
    found: dict[str, dict[str, float]] = {}
    for name in dict.fromkeys(one.set for one, _, _ in rows):
        mine = [row for row in rows if row[0].set == name]
        own = [row for row in mine if row[0].kind == "answerable"]
        far = [row for row in mine if row[0].kind == "elsewhere"] or [
            row for row in mine if row[0].kind == "taken out"
        ]
        if not own or not far:
            continue
        strong = [one.place or 99 for one, _, level in own if level == "strong"]
        wrong = _share(far, "strong") * len(own)
        first = [row for row in own if row[0].place == 1]
        found[name] = {
            "strong, in the vault": _over(len(strong), len(strong) + wrong),
            "strong, in the first five": _over(
                sum(place <= FIRST for place in strong), len(strong) + wrong
            ),
            "strong, first": _over(sum(place == 1 for place in strong), len(strong) + wrong),
            **{f"none, {kind}": _share([row for row in mine if row[0].kind == kind], "none")
               for kind in KINDS[1:] if any(row[0].kind == kind for row in mine)},
            "none, answered first": _share(first, "none"),
            "strong, answered first": _share(first, "strong"),
        }  # fmt: skip
    means = {
        measure: round(
            float(np.mean([one[measure] for one in found.values() if measure in one])), 4
        )
        for measure in dict.fromkeys(key for one in found.values() for key in one)
    }
    return {**found, "mean": means}


def reliability(rows: Sequence[Judged]) -> list[list[float]]:
    """In bins of confidence, its mean and how many questions have their answer among the first
    five; answerable ones and the others have the same weight in all, as have the sets."""
    rows = [row for row in rows if row[0].kind in KINDS[:2]]
    cells = [(one.set, one.kind) for one, _, _ in rows]
    weights = np.array([1 / cells.count(cell) for cell in cells])
    confidence = np.array([confidence for _, confidence, _ in rows])
    right = np.array([one.place is not None and one.place <= FIRST for one, _, _ in rows])
    places = np.minimum((confidence * BINS).astype(int), BINS - 1)
    return [
        [round(float(np.average(values[places == place], weights=weights[places == place])), 4)
         for values in (confidence, right)]
        for place in range(BINS) if (places == place).any()
    ]  # fmt: skip


def _levels(levels: Sequence[str]) -> dict[str, float]:
    return {level: _over(levels.count(level), len(levels)) for level in LEVELS}


def _share(rows: Sequence[Judged], level: str) -> float:
    return _over(sum(one == level for _, _, one in rows), len(rows))


def _over(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole else 0.0


if __name__ == "__main__":
    main()
