"""How well a recipe answers one's own questions: those with accepted results, and the gold set."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from msgspec.structs import replace

from recollect.engine import Recollect
from recollect.engine.feedback import gold_folder
from recollect.recipes.base import Recipe
from recollect.recipes.overrides import nested_changes, overridden
from recollect_evaluation.datasets import QRELS, QUERIES, Grades, rows, table
from recollect_evaluation.gold import is_gold
from recollect_evaluation.metrics import DEPTH, interval, ndcg, resampled

# Somebody moves a slider and waits. Always the same questions: a side that nobody touched keeps its
# score. Thirty begin to tell recipes apart.
MOST = 30


class OwnScore(NamedTuple):
    """The mean nDCG@10 with its 95 % interval, and how many questions a change makes better and
    worse."""

    ndcg: float
    low: float
    high: float
    better: int = 0
    worse: int = 0


class OwnScores(NamedTuple):
    """The scores of several recipes over the same `asked` of the `known` questions."""

    known: int
    asked: int
    scores: list[OwnScore]


def own_questions(engine: Recollect) -> Grades:
    """The questions, and which memories answer them; where both judge one, the gold set counts."""
    found: Grades = {
        query: {id: int(accepted) for id, accepted in verdicts.items()}
        for query, verdicts in engine.judgements().items()
    }
    folder = gold_folder(engine.home)
    if is_gold(folder):
        texts = {str(row.get("_id")): str(row.get("text")) for _, row in rows(folder / QUERIES)}
        for _, (query, id, grade) in table(folder / QRELS[0], ("query", "memory", "grade")):
            with suppress(KeyError, ValueError):  # `recollect eval` tells of those
                found.setdefault(texts[query], {})[id] = int(grade)
    return {query: grades for query, grades in found.items() if any(g > 0 for g in grades.values())}


def own_scores(engine: Recollect, pairs: Sequence[tuple[Recipe, Recipe]]) -> OwnScores:
    """The score of the first recipe of each pair, and what it makes better and worse than the
    second. Nothing is reranked, which would take seconds, and feedback itself does not count: it
    would put every accepted result first."""
    questions = own_questions(engine)
    recipes = {one.fingerprint: one for pair in pairs for one in pair}
    values: dict[str, list[float]] = {name: [] for name in recipes}
    asked = [*questions.items()][:MOST]
    for query, grades in asked:
        for name, recipe in recipes.items():
            found = engine.run_recipe(_plain(recipe, query), query, limit=DEPTH)
            values[name].append(ndcg([result.id for result in found], grades))
    if not asked:
        return OwnScores(0, 0, [])
    scores = [_score(values[one.fingerprint], values[other.fingerprint]) for one, other in pairs]
    return OwnScores(len(questions), len(asked), scores)


def _plain(recipe: Recipe, query: str) -> Recipe:
    changes = nested_changes(recipe.deferral(query))
    quick = overridden(recipe, changes, recipe.name) if changes else recipe
    return replace(quick, feedback=None)


def _score(values: Sequence[float], declared: Sequence[float]) -> OwnScore:
    low, high = interval(resampled([values])[0])
    return OwnScore(
        sum(values) / len(values),
        low,
        high,
        better=sum(one > other for one, other in zip(values, declared, strict=True)),
        worse=sum(one < other for one, other in zip(values, declared, strict=True)),
    )
