"""Measure recipes and models on the user's own questions: those with accepted results, and the gold
set. To compare models, the vault's memories are copied into a temporary vault for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import structs
from msgspec.structs import replace

from recollect.engine import Recollect
from recollect.engine.feedback import gold_folder
from recollect.errors import UserError
from recollect.ingest.draft import make_draft
from recollect.memory_json import memory_json
from recollect.models.folder import installed_models
from recollect.recipes.base import Recipe
from recollect.recipes.tree import nested_changes, override
from recollect.settings import Settings
from recollect_evaluation.cache import Cache
from recollect_evaluation.datasets import QRELS, QUERIES, Dataset, Grades, Question, rows, table
from recollect_evaluation.evaluation import Contestant, Progress, RecipeOutcome, open_evaluation
from recollect_evaluation.gold import is_gold
from recollect_evaluation.metrics import DEPTH, interval, ndcg, resample
from recollect_evaluation.report import report

# Questions per score: a person who moves a slider waits for it, and thirty begin to tell recipes
# apart. They are always the same, so that an unchanged side keeps its score.
MOST_QUESTIONS = 30


class OwnScore(NamedTuple):
    """The mean nDCG@10 with its 95 % interval, and the numbers of better and worse questions."""

    ndcg: float
    low: float
    high: float
    better: int = 0
    worse: int = 0


class OwnScores(NamedTuple):
    """The scores of several recipes over the same questions: `asked` of the `known` ones."""

    known: int
    asked: int
    scores: list[OwnScore]


def own_questions(engine: Recollect) -> Grades:
    """Return the questions and their judgements; the gold set wins over feedback."""
    judged: Grades = {
        query: {id: int(accepted) for id, accepted in verdicts.items()}
        for query, verdicts in engine.judgements().items()
    }
    folder = gold_folder(engine.home)
    if is_gold(folder):
        texts = {str(row.get("_id")): str(row.get("text")) for _, row in rows(folder / QUERIES)}
        for _, (query, id, grade) in table(folder / QRELS[0], ("query", "memory", "grade")):
            with suppress(KeyError, ValueError):  # `recollect eval` reports those
                judged.setdefault(texts[query], {})[id] = int(grade)
    return {
        query: grades for query, grades in judged.items() if any(g > 0 for g in grades.values())
    }


def own_scores(engine: Recollect, pairs: Sequence[tuple[Recipe, Recipe]]) -> OwnScores:
    """Score the first recipe of each pair, compared with the second. Without reranking, which would
    take seconds, and without feedback, which would put every accepted result first."""
    questions = own_questions(engine)
    recipes = {one.fingerprint: one for pair in pairs for one in pair}
    values: dict[str, list[float]] = {name: [] for name in recipes}
    asked = [*questions.items()][:MOST_QUESTIONS]
    for query, grades in asked:
        for name, recipe in recipes.items():
            response = engine.run_recipe(_plain(recipe, query), query, limit=DEPTH)
            values[name].append(ndcg([result.id for result in response], grades))
    if not asked:
        return OwnScores(0, 0, [])
    scores = [_score(values[one.fingerprint], values[other.fingerprint]) for one, other in pairs]
    return OwnScores(len(questions), len(asked), scores)


def _plain(recipe: Recipe, query: str) -> Recipe:
    changes = nested_changes(recipe.deferral(query))
    quick = override(recipe, changes, recipe.name) if changes else recipe
    return replace(quick, feedback=None)


def _score(values: Sequence[float], declared: Sequence[float]) -> OwnScore:
    low, high = interval(resample([values])[0])
    return OwnScore(
        sum(values) / len(values),
        low,
        high,
        better=sum(one > other for one, other in zip(values, declared, strict=True)),
        worse=sum(one < other for one, other in zip(values, declared, strict=True)),
    )


# All judged memories and the newest others: a minute or two for each model.
MOST_MEMORIES = 3_000
FEW_QUESTIONS = 30  # questions: fewer hardly tell models apart


def own_dataset(engine: Recollect) -> Dataset:
    """Return the questions of the gold set and of feedback, with the memories of the vault."""
    if engine.store.database.locked:
        raise UserError("A locked vault is not copied, so its models cannot be compared.")
    questions = own_questions(engine)
    if not questions:
        raise UserError(
            "There are no questions of your own yet: `recollect feedback QUERY ID --accept` or "
            "`recollect eval add QUERY ID` adds one."
        )
    judged = {id for grades in questions.values() for id in grades}
    newest = sorted(engine.export(), key=lambda one: one.updated_at, reverse=True)
    every = sorted(newest, key=lambda one: one.id not in judged)
    documents = {one.id: make_draft(memory_json(one)) for one in every[:MOST_MEMORIES]}
    gone = len(judged - documents.keys())
    left = len(every) - len(documents)
    problems = {"judged memories that are not in the vault any more": gone} if gone else {}
    if left:
        problems["older memories left out, to bound the time"] = left
    ids = {f"q{number}": query for number, query in enumerate(questions, start=1)}
    return Dataset(
        name="your own questions",
        documents=documents,
        questions={id: Question(id, query) for id, query in ids.items()},
        grades={id: questions[query] for id, query in ids.items()},
        problems=problems,
    )


def compare_models(
    dataset: Dataset,
    settings: Settings,
    environment: Mapping[str, str],
    cache: Cache,
    progress: Progress,
    *,
    queries: int | None = None,
    seed: int = 0,
) -> tuple[dict[str, Any], list[RecipeOutcome]]:
    """Return the report on each installed model with the settings' recipe, the settings' model
    first."""
    known = installed_models(settings.embedding)
    used = settings.embedding.model or next(iter(known))
    identities: dict[str, str | None] = {}
    refused: dict[str, int] = {}
    outcomes = []
    for name in sorted(known, key=lambda name: name != used):
        own = structs.replace(settings, embedding=known[name])
        with open_evaluation(dataset, own, environment, cache) as bench:
            contestant = Contestant(Path(name).name, bench.memory.recipe())
            asked = bench.questions(queries, seed)

            def labelled_progress(what: str, count: int, name: str = name) -> Any:
                return progress(f"{name}: {what}", count)

            refused |= bench.prepare(labelled_progress, vectors=True)
            outcomes += bench.measure([contestant], asked, seed, progress)
            identities[contestant.name] = bench.models()["embedding"]
    figures = report(
        dataset, outcomes, problems=dataset.problems | refused, models=identities, left_out={}
    )
    return figures, outcomes


def advice(found: dict[str, Any], note: str | None) -> str:
    """Advise a model: another than the first if the difference is above chance. If it is not, the
    `note` on the languages of the vault decides, if there is one."""
    first, *others = found["recipes"]
    few = f" {found['queries']} questions are few." if found["queries"] < FEW_QUESTIONS else ""
    if not others:
        return f"Only {first} is installed."
    gains = {one["recipe"]: one for one in found["comparisons"] if one["measure"] == "ndcg@10"}
    best = max(others, key=lambda name: gains[name]["difference"])
    difference, (low, high) = gains[best]["difference"], gains[best]["ci95"]
    shown = f"{difference:+.3f} [{low:+.3f}, {high:+.3f}] nDCG@10 against {first}"
    if low > 0:
        return f"{best} is better here: {shown}.{few} To switch: recollect models use {best}"
    if high < 0:
        return f"Keep {first}: {best} has {shown}.{few}"
    within = f"the difference is within the interval; {best} has {shown}.{few}"
    return f"{within[0].upper()}{within[1:]} {note}" if note else f"Keep {first}: {within}"
