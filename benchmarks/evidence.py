"""How far one can trust `evidence`: strong, weak, none.

Each question of a judged set is asked of its set (`answerable`); questions of the other sets are
asked of it (`elsewhere`: nothing there answers them); where one document answers a question, half
of the questions are asked once more of the set without their documents (`taken out`, with the rest
of the article for xquad: what remains is near); questions that a set marks as having no answer are
`marked`. `--fit` fits the rules of `blend` on half of the questions, chosen by their ids, a
translation with its original; results/evidence.json, which docs/quality.md shows, has the other
half. Of the sets in HELD_OUT nothing is fitted, neither on their documents nor on their questions.
Asked without a reranker: the verdict does not depend on it. `--model multilingual` does the same
for the model for many languages and its rule `many`, on xquad and xquad-cross.
"""

from __future__ import annotations

import argparse
import json
import os
from collections import Counter
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
from recollect.maths import logit
from recollect.recipes.base import Recipe
from recollect.recipes.registry import BUILT_IN
from recollect.settings import Embedding, Rerank, Settings
from recollect.stages.evidence import EvidenceRule, JudgeEvidence, Signs
from recollect.types import Filter

RECIPE = BUILT_IN["blend"]
[RULE] = [stage for stage in RECIPE.stages if isinstance(stage, JudgeEvidence)]
RESULTS = Path(__file__).parent / "results"
SETS = (
    "qed-nq", "xquad", "locomo", "chroma-chunking", "cranfield", "longmemeval-oracle-turns",
    "hotpotqa-1k", "cacm", "beam-100k",
)  # fmt: skip
MANY = ("xquad", "xquad-cross")  # the sets of many languages
HELD_OUT = ("hotpotqa-1k", "cacm", "beam-100k")
# Of the others' questions many documents of the set tell something, not only the judged ones.
ONE_ANSWERS = ("qed-nq", *MANY, "locomo", "hotpotqa-1k")
# Each question of xquad is there in every language, of which these have the Latin script.
LATIN = ("de", "es", "ro", "tr", "vi")
KINDS = ("answerable", "elsewhere", "taken out", "marked")
LEVELS = {
    "strong": (RULE.strong, 2.0),
    "weak": (RULE.weak, RULE.strong),
    "none": (0.0, RULE.weak),
}
WAYS = ("vectors and words", "words alone")
FIRST = 5  # results that people look at
BINS = 10
RIDGE = 0.01
# Fewer questions of a set and kind do not count as much as those of the others.
FEW = 20
# Without vectors fewer would leave too many strong verdicts wrong.
NONE_WRONG = {"seen": 0.025, "foreign": 0.025, "words": 0.05, "unread": 0.025, "many": 0.025}
# What each rule weighs; the coverage as far as it stands out.
WEIGHED = {
    "seen": ("coverage", "held", "cosine", "lead"),
    "foreign": ("coverage", "near", "known", "lead"),
    "words": ("coverage",),
    "unread": ("coverage",),
    "many": ("coverage", "cosine"),
}
# The fit alone would give it 62. In a small vault of several languages any memory in the query's
# own language stands out, and xquad, asked within one language, has no such vault.
FIXED_LEAD = {"many": 40.0}
SIGN = {"coverage": "distinct"}


class Asked(NamedTuple):
    """A question of one kind, what spoke for each candidate, and the place of the first answer."""

    set: str
    kind: str
    own_set: str
    id: str
    place: int | None
    signs: list[Signs]

    @property
    def held_out(self) -> bool:
        original = self.id.partition("/")[2] if self.own_set in MANY else self.id
        whole = not {self.set, self.own_set}.isdisjoint(HELD_OUT)
        return whole or _hash("half", original) % 2 == 1

    def by(self, way: str) -> list[Signs]:
        """The signs as they are, or without a cosine."""
        if way == WAYS[0]:
            return self.signs
        return [signs._replace(cosine=None, lead=0.0) for signs in self.signs]

    def fits(self, rule: str) -> bool:
        """Whether the rule judges it, if only where there are no vectors."""
        first = self.signs[0]
        if first.reads == "any" or rule == "many":
            return first.reads == "any" and rule == "many"
        if first.reads == "nothing" or rule == "unread":
            return first.reads == "nothing" and rule == "unread"
        return rule == "words" or (
            first.cosine is not None and (first.reads == "language") == (rule == "seen")
        )


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
    parser.add_argument("--sets", nargs="*", help="only these sets")
    parser.add_argument("--model", default="", help="the embedding model, if not the default")
    parser.add_argument("--kept", type=Path, help="a folder for what was asked, to fit again")
    parser.add_argument("--fit", action="store_true", help="print rules fitted on the other half")
    args = parser.parse_args()
    asked: list[Asked] = []
    for name in args.sets or (MANY if args.model else SETS):
        kept = args.kept and args.kept / f"{name}.json"
        if kept and kept.is_file():
            asked += msgspec.json.decode(kept.read_bytes(), type=list[Asked])
        elif (args.data / name).is_dir():
            found = list(ask_all(args.data, name, args.questions, args.model))
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
    file = RESULTS / f"evidence{args.model and '-'}{args.model}.json"
    file.write_bytes(msgspec.json.format(found_json, indent=1) + b"\n")


# Asking


def ask_all(data: Path, name: str, count: int, model: str) -> Iterator[Asked]:
    """Every kind of question of one set."""
    folder = data / name
    count *= 2 if name == "xquad" else 1  # in twelve languages
    dataset = load(folder)
    marked = _marked(folder)
    scored = [question for question in dataset.scored if question.id not in marked]
    chosen = sorted(scored, key=lambda question: _hash("choice", question.id))[:count]
    places = [one for one in chosen if name != "xquad" or one.group == "en"]
    recipe = msgspec.structs.replace(RECIPE, stages=tuple(map(_recording, RECIPE.stages)))
    with _vault(folder, dataset, frozenset(), model) as bench:
        yield from (_asked(bench, recipe, one, "answerable") for one in chosen)
        for other, question in _of_others(data, name, count):
            where = bench.filter(places[_hash("where", question.id) % len(places)])
            found = _asked(bench, recipe, question, "elsewhere", where)
            yield found._replace(own_set=other)
        yield from (
            _asked(bench, recipe, one, "marked")
            for id, one in dataset.questions.items()
            if id in marked
        )
    for part in (0, 1) if name in ONE_ANSWERS else ():
        gone = _taken_out(dataset, chosen, part)
        with _vault(folder, dataset, gone, model) as bench:
            for question in chosen:
                if gone.issuperset(_answers(dataset, question)):
                    yield _asked(bench, recipe, question, "taken out")


def _recording(stage: Any) -> Any:
    if not isinstance(stage, JudgeEvidence):
        return stage
    return Recording(**{field: getattr(stage, field) for field in stage.__struct_fields__})


@contextmanager
def _vault(
    folder: Path, dataset: Dataset, gone: frozenset[str], model: str
) -> Iterator[Evaluation]:
    """The set's documents in a vault, without some; what asks no reranker asks no deadline."""
    cache = Cache(cache_folder(os.environ) / "eval.db")
    settings = Settings(embedding=Embedding(model=model), rerank=Rerank(provider="none"))
    with opened(folder, settings, os.environ, cache) as bench:
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
    own_set = bench.dataset.name
    return Asked(name, kind, own_set, question.id, next(places, None), [*SEEN[:1], []][0])


def _of_others(data: Path, name: str, count: int) -> Iterator[tuple[str, Question]]:
    """Questions in English of the other sets, as many of each."""
    own = MANY if name in MANY else (name,)  # the same passages
    others = [other for other in SETS if other not in own and (data / other).is_dir()]
    for other in others:
        questions = load(data / other).scored
        if other == "xquad":
            questions = [one for one in questions if one.group == "en"]
        questions.sort(key=lambda one: _hash("choice", one.id))
        for question in questions[: count // len(others)]:
            yield other, msgspec.structs.replace(question, asked_at=None)


def _taken_out(dataset: Dataset, chosen: Sequence[Question], part: int) -> frozenset[str]:
    """The documents that answer half of the questions; of xquad, whole articles."""
    if dataset.name in MANY:  # five paragraphs of an article follow each other
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
    """Print each rule, by logistic regression on whether the answer is among the first five: every
    set has the same weight, and in each the answerable questions as much as the others, of which
    every kind has the same. The bias is then moved so that of the questions answered first the
    share NONE_WRONG gets none. Then what thresholds would do to the questions of the rule."""
    known = [one for one in asked if one.signs and not one.held_out]
    for name, weighed in WEIGHED.items():
        way = WAYS[name in ("words", "unread")]
        rows = [one for one in known if one.fits(name)]
        if not rows:
            continue  # the rules of another model
        cells = [(one.set, one.kind) for one in rows]
        kinds = Counter((set, kind == "answerable") for set, kind in {*cells})
        sizes = Counter(cells)
        shares = {(set, kind): 1 / max(size, FEW) / kinds[set, kind == "answerable"]
                  for (set, kind), size in sizes.items()}  # fmt: skip
        weights = [shares[cell] for cell in cells]
        right = np.array([(one.place or 99) <= FIRST for one in rows])
        lead = FIXED_LEAD.get(name, 0.0)
        rule = EvidenceRule(bias=0.0, coverage=1.0, cosine=3.0, lead=lead)
        for _ in range(10):  # which candidate speaks loudest depends on the rule
            best = [max(one.by(way), key=rule.confidence) for one in rows]
            table = np.array([[1.0, *(getattr(one, SIGN.get(w, w)) for w in weighed)]
                              for one in best])  # fmt: skip
            given = lead * np.array([one.lead for one in best])
            bias, *found = map(float, _logistic_fit(table, right, 100 * np.array(weights), given))
            fitted = dict(zip(weighed, found, strict=True))
            rule = EvidenceRule(**{"bias": bias, "lead": lead} | fitted)
        first = [(rule.confidence(sign), one.set) for one, sign in zip(rows, best, strict=True)
                 if one.place == 1]  # fmt: skip
        answered = Counter(set for _, set in first)
        below = np.cumsum([1 / max(answered[set], FEW) for _, set in sorted(first)])
        edge = sorted(first)[int(np.searchsorted(below, NONE_WRONG[name] * below[-1]))][0]
        rule = msgspec.structs.replace(rule, bias=rule.bias + logit(RULE.weak) - logit(edge))
        print(name, len(rows), rule)
        changed = msgspec.structs.replace(RULE, **{name: rule})
        judged = [(one, *changed.verdict(one.by(way))) for one in rows]
        for line, measures in trade_off(judged).items():
            print(line, measures)


def _logistic_fit(table: Any, right: Any, weights: Any, given: Any) -> Any:
    """Newton's method, with a ridge that keeps separable data finite; `given` is what a sign with a
    fixed weight adds."""
    found = np.zeros(table.shape[1])
    for _ in range(50):
        share = 1 / (1 + np.exp(-table @ found - given))
        slope = table.T @ (weights * (right - share)) - RIDGE * found
        bend = (table * (weights * share * (1 - share))[:, None]).T @ table
        found = found + np.linalg.solve(bend + RIDGE * np.eye(len(found)), slope)
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
            f"{way}: {kind}": {
                level: _mean_share([row for row in rows if row[0].kind == kind], *bounds)
                for level, bounds in LEVELS.items()
            }
            for way, rows in judged.items()
            for kind in KINDS
        },
        "trade-off": {way: trade_off(rows) for way, rows in judged.items()},
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
            **{f"strong, {kind}": _share([row for row in mine if row[0].kind == kind], "strong")
               for kind in KINDS[2:] if any(row[0].kind == kind for row in mine)},
        }  # fmt: skip
    for group, names in {
        "mean of the half held out": found.keys() - {*HELD_OUT},
        "mean of the sets held out": found.keys() & {*HELD_OUT},
    }.items():
        values = [found[name] for name in names]
        found[group] = {
            measure: round(float(np.mean([one[measure] for one in values if measure in one])), 4)
            for measure in dict.fromkeys(key for one in values for key in one)
        }
    return found


def trade_off(rows: Sequence[Judged]) -> dict[str, dict[str, float]]:
    """What each threshold would do, as means of sets: of questions answered first and of the others
    how many it would call none, or strong."""
    parts = {"answered first": [row for row in rows if row[0].place == 1]}
    parts |= {kind: [row for row in rows if row[0].kind == kind] for kind in KINDS[1:]}
    bounds = {f"none below {one:.2f}": (0.0, one) for one in (*np.arange(1, 11) / 20,)}
    bounds |= {f"strong from {one:.2f}": (one, 2.0) for one in (0.7, 0.75, 0.8, 0.85, 0.9, 0.95)}
    return {
        name: {part: _mean_share(some, *each) for part, some in parts.items() if some}
        for name, each in bounds.items()
    }


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


def _mean_share(rows: Sequence[Judged], least: float, below: float) -> float:
    """How many have such a confidence, as the mean of sets."""
    sets = {one.set for one, _, _ in rows}
    shares = [
        np.mean([least <= row[1] < below for row in rows if row[0].set == name]) for name in sets
    ]
    return round(float(np.mean(shares)), 4)


def _share(rows: Sequence[Judged], level: str) -> float:
    return _over(sum(one == level for _, _, one in rows), len(rows))


def _over(part: float, whole: float) -> float:
    return round(part / whole, 4) if whole else 0.0


if __name__ == "__main__":
    main()
