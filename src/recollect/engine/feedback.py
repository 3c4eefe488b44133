"""Feedback on results, and the weights that the ranking learns from it.

The weights are fitted to the newer half of the questions. They are applied only if they rank the
accepted results of the older half at least as high as before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec
from msgspec.structs import replace

from recollect.auth.capabilities import SEARCH, WRITE
from recollect.checks import check_ids
from recollect.engine.filters import read_query_fields
from recollect.engine.operations import operation
from recollect.engine.reading import show
from recollect.engine.searching import prepare_search, search_vault
from recollect.engine.session import Session
from recollect.errors import NotFound, RecollectError, UserError
from recollect.models.embedding_queue import embed_queries
from recollect.query.likeness import normalise
from recollect.recipes.base import Recipe
from recollect.recipes.learned import (
    Lesson,
    Replay,
    fit_weights,
    learnable,
    lesson_for,
)
from recollect.stages.ending import Cut
from recollect.stages.signal_sums import Bonus
from recollect.types import order

REPLAYED = 30  # results of each question that are ranked again: lower ones do not matter
RIVALS = 10  # an accepted result is compared with this many of the best others


@operation(WRITE, retry=True)
def feedback(
    session: Session, query: str, id: str, *, accept: bool | None = None, undo: bool = False
) -> tuple[int, int]:
    """Accept or dismiss a result, or take that back; return how many results are accepted and
    dismissed now. The feedback is durable when this returns.

    Repeating it changes nothing; the opposite replaces it. `undo` with `accept` takes back only
    an acceptance, or only a dismissal.
    """
    kept = read_query_fields(session, session.redaction.redact_query(query)).text
    words = normalise(kept)
    if not words:
        raise UserError("Feedback needs the query that the result answered, in words.")
    check_ids([id])
    was = any(
        verdict.memory_id == id and verdict.accepted
        for verdict in session.store.feedback.find_verdicts([words])
    )
    if undo:
        if not session.store.feedback.take_back(words, id, accept):
            what = {None: "feedback", True: "acceptance", False: "dismissal"}[accept]
            raise NotFound(f"There is no {what} of {id!r} for “{kept}” that could be taken back.")
    elif accept is None:
        raise UserError("Say whether the result was right: accept it, or dismiss it.")
    else:
        _check_exists(session, id)
        session.store.feedback.add(kept, id, accept, session.clock())
    session.wrote("feedback", [id])
    if was != (accept is True and not undo):
        session.count_use("taken back" if was else "accepted", [id])
    # The feedback is durable; what follows may fail and is repeated later.
    with suppress(RecollectError):
        if session.models.embeds():
            embed_queries(session.store.feedback, session.models.embedder())
        if is_due(session):
            session.tasks.run(partial(learn, session))
    return session.store.feedback.count_standing()


def _check_exists(session: Session, id: str) -> None:
    """Raise NotFound if there is no such memory, or it is forgotten."""
    try:
        show(session, [id], opened=False)
    except NotFound:
        if id in session.store.memories.find([id]):
            raise NotFound(
                f"The memory {id!r} is forgotten; `recollect forget {id} --undo` brings it back."
            ) from None
        raise


@operation(SEARCH, retry=True)
def feedback_on(session: Session, query: str, ids: Sequence[str]) -> dict[str, bool]:
    """Return whether each memory is accepted for this query; memories without feedback are left
    out."""
    if not session.store.feedback.state().given:
        return {}
    words = normalise(read_query_fields(session, session.redaction.redact_query(query)).text)
    verdicts = session.store.feedback.find_verdicts([words])
    wanted = set(check_ids(ids))
    return {
        verdict.memory_id: verdict.accepted for verdict in verdicts if verdict.memory_id in wanted
    }


@operation(SEARCH, retry=True)
def judgements(session: Session) -> dict[str, dict[str, bool]]:
    """Return the questions that have an accepted result, newest first, each with its memories and
    whether they are accepted."""
    log = session.store.feedback
    asked = {normalise(event.query): event.query for event in reversed(log.list_all())}
    found: dict[str, dict[str, bool]] = {words: {} for words in asked}
    for verdict in log.find_verdicts([*asked]):
        found[verdict.words][verdict.memory_id] = verdict.accepted
    return {asked[words]: verdicts for words, verdicts in found.items() if any(verdicts.values())}


def gold_folder(home: Path) -> Path:
    """Return the default folder of a gold set: questions judged outside of searches."""
    return home / "gold"


class ReplayedQuestion:
    """A question searched again: the best results with the parts of their scores, and which of
    them are accepted."""

    def __init__(self, session: Session, recipe: Recipe, query: str) -> None:
        verdicts = session.store.feedback.find_verdicts([normalise(query)])
        search = prepare_search(session, query, limit=REPLAYED).search
        found = search_vault(session, recipe, search)
        self._accepted = {verdict.memory_id for verdict in verdicts if verdict.accepted}
        self._parts = {
            result.id: {part.name: part.value for part in result.explain.leaves()}
            for result in found
        }

    def pairs(self) -> Iterator[dict[str, float]]:
        """Yield the difference of each accepted result to each of the best others, by part."""
        parts = self._parts
        rivals = [id for id in parts if id not in self._accepted][:RIVALS]
        for id in self._accepted & parts.keys():
            for rival in rivals:
                names = parts[id].keys() | parts[rival].keys()
                yield {name: parts[id].get(name, 0) - parts[rival].get(name, 0) for name in names}

    def reciprocal_rank(self, factors: Mapping[str, float]) -> float:
        """Return the reciprocal rank of the best accepted result, or 0, with each part multiplied
        by its factor (default 1). Ranks count from 1."""
        scores = {
            id: sum(value * factors.get(name, 1.0) for name, value in parts.items())
            for id, parts in self._parts.items()
        }
        best = sorted(scores, key=lambda id: order(scores[id], id))
        places = (place for place, id in enumerate(best, start=1) if id in self._accepted)
        return 1 / next(places, float("inf"))


def is_due(session: Session) -> bool:
    """Return whether there is enough new feedback to learn from."""
    recipe, log = session.recipe(), session.store.feedback
    if recipe.feedback is None:
        return False
    rule, last = recipe.feedback.learning, lesson_for(recipe, log.state().lesson)
    known = last.questions if last is not None else 0
    return len(log.questions()) >= max(rule.after, known + rule.every)


def learn(session: Session, stop: Callable[[], bool]) -> None:
    """Learn the weights of the default recipe, unless `stop` becomes true meanwhile."""
    recipe, log = session.recipe(), session.store.feedback
    assert recipe.feedback is not None, "it is due"
    rule, declared, asked = recipe.feedback.learning, learnable(recipe), log.questions()
    plain = _without_feedback(recipe)
    questions: list[ReplayedQuestion] = []
    for event in asked[-rule.most :]:
        if stop():
            return
        questions.append(ReplayedQuestion(session, plain, event.query))
    older, newer = questions[: len(questions) // 2], questions[len(questions) // 2 :]
    weights = fit_weights(declared, [[*question.pairs()] for question in newer], rule.span)
    factors = {name: weights[name] / weight for name, weight in declared.items() if weight}
    held_out, fit = (_replay(half, factors) for half in (older, newer))
    better = held_out.after > held_out.before or fit.after > fit.before
    lesson = Lesson(
        at=session.clock(),
        questions=len(asked),
        declared=declared,
        weights=weights,
        fit=fit,
        held_out=held_out,
        applied=held_out.after >= held_out.before and better,
    )
    log.learn(msgspec.json.encode(lesson).decode())


def _without_feedback(recipe: Recipe) -> Recipe:
    """Return the recipe with only its weighted sums: its feedback would put every accepted result
    first."""
    stages = tuple(
        replace(stage, signals=tuple(one for one in stage.signals if one.name != "feedback"))
        for stage in recipe.stages
        if isinstance(stage, Bonus)
    )
    return replace(recipe, stages=(*stages, Cut()), feedback=None, deep=None)


def _replay(questions: Sequence[ReplayedQuestion], factors: Mapping[str, float]) -> Replay:
    """Rank the questions' results with these factors, and compare with before."""
    ranks = [(one.reciprocal_rank({}), one.reciprocal_rank(factors)) for one in questions]
    return Replay(
        questions=len(ranks),
        before=round(sum(before for before, _ in ranks) / len(ranks), 4),
        after=round(sum(after for _, after in ranks) / len(ranks), 4),
        better=sum(after > before for before, after in ranks),
        worse=sum(after < before for before, after in ranks),
    )


@operation(SEARCH, retry=True)
def opinions(session: Session) -> tuple[int, int]:
    """Return how many results are accepted and dismissed now."""
    return session.store.feedback.count_standing()
