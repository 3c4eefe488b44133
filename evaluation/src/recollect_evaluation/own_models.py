"""Which of the installed embedding models answers one's own questions best. The vault is only read:
its memories are copied into a temporary one for each model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msgspec import structs

from recollect.engine import Recollect
from recollect.errors import UserError
from recollect.ingest.draft import make_draft
from recollect.memory_json import memory_json
from recollect.models.folder import installed_models
from recollect.settings import Settings
from recollect_evaluation.cache import Cache
from recollect_evaluation.datasets import Dataset, Question
from recollect_evaluation.evaluation import Contestant, Progress, RecipeOutcome, opened
from recollect_evaluation.own_questions import own_questions
from recollect_evaluation.report import report

# All memories that were judged, and the newest others: a minute or two for each model.
MOST_MEMORIES = 3_000
FEW = 30  # questions: fewer hardly tell models apart


def own_dataset(engine: Recollect) -> Dataset:
    """The questions of the gold set and of feedback, over the memories of the vault."""
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


def compared_models(
    dataset: Dataset,
    settings: Settings,
    environment: Mapping[str, str],
    cache: Cache,
    progress: Progress,
    *,
    queries: int | None = None,
    seed: int = 0,
) -> tuple[dict[str, Any], list[RecipeOutcome]]:
    """The report on each installed model, the settings' first, with the settings' recipe."""
    known = installed_models(settings.embedding)
    used = settings.embedding.model or next(iter(known))
    identities: dict[str, str | None] = {}
    refused: dict[str, int] = {}
    outcomes = []
    for name in sorted(known, key=lambda name: name != used):
        own = structs.replace(settings, embedding=known[name])
        with opened(dataset, own, environment, cache) as bench:
            contestant = Contestant(Path(name).name, bench.memory.recipe())
            asked = bench.questions(queries, seed)

            def labelled(what: str, count: int, name: str = name) -> Any:
                return progress(f"{name}: {what}", count)

            refused |= bench.prepare(labelled, vectors=True)
            answers = bench.quality(contestant, asked, progress)
            timing = bench.latency(contestant, asked, seed, progress)
            outcomes.append(bench.outcome(contestant, answers, timing))
            identities[contestant.name] = bench.models()["embedding"]
    found = report(
        dataset, outcomes, problems=dataset.problems | refused, models=identities, left_out={}
    )
    return found, outcomes


def advice(found: dict[str, Any], note: str | None) -> str:
    """Which model to use: another than the first where the difference is above chance. Where it is
    not, the `note` on the languages of the vault decides, if there is one."""
    first, *others = found["recipes"]
    few = f" {found['queries']} questions are few." if found["queries"] < FEW else ""
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
