"""What people say of results, and the weights that the ranking learns from it: fitted to the
newer half of the questions, and used only if the older half, ranked again with them, has what was
accepted at least as high."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec
from msgspec.structs import replace

from recollect.auth.capabilities import SEARCH, WRITE
from recollect.checks import named_ids
from recollect.engine.filters import fields_of
from recollect.engine.operations import operation
from recollect.engine.reading import looked_up
from recollect.engine.searching import in_vault, prepare_search
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

# Each question is searched this deep, once, and ranked with the new weights: what stands further
# down is as good as not found.
REPLAYED = 30
# An accepted result is compared with so many others of its question, the best.
RIVALS = 10


@operation(WRITE, retry=True)
def feedback(
    session: Session, query: str, id: str, *, accept: bool | None = None, undo: bool = False
) -> tuple[int, int]:
    """Say whether a result was right, or take back what was said; returns how many results are
    accepted and dismissed now. It is on the disk when this returns.

    The same again changes nothing, and the opposite replaces what was said. `undo` with
    `accept` takes back this and nothing else.
    """
    kept = fields_of(session, session.redaction.redact_query(query)).text
    words = normalise(kept)
    if not words:
        raise UserError("Feedback needs the query that the result answered, in words.")
    named_ids([id])
    was = any(
        verdict.memory_id == id and verdict.accepted
        for verdict in session.store.feedback.on([words])
    )
    if undo:
        if not session.store.feedback.take_back(words, id, accept):
            what = {None: "feedback", True: "acceptance", False: "dismissal"}[accept]
            raise NotFound(f"There is no {what} of {id!r} for “{kept}” that could be taken back.")
    elif accept is None:
        raise UserError("Say whether the result was right: accept it, or dismiss it.")
    else:
        _check_there(session, id)
        session.store.feedback.add(kept, id, accept, session.clock())
    session.wrote("feedback", [id])
    if was != (accept is True and not undo):
        session.used("taken back" if was else "accepted", [id])
    # What follows can be made up for later; what was said is on the disk.
    with suppress(RecollectError):
        if session.models.embeds():
            embed_queries(session.store.feedback, session.models.embedder())
        if is_due(session):
            session.late.do(partial(learn, session))
    return session.store.feedback.count_standing()


def _check_there(session: Session, id: str) -> None:
    """NotFound where there is no such memory, or it is forgotten."""
    try:
        looked_up(session, [id])
    except NotFound:
        if id in session.store.memories.find([id]):
            raise NotFound(
                f"The memory {id!r} is forgotten; `recollect forget {id} --undo` brings it back."
            ) from None
        raise


@operation(SEARCH, retry=True)
def judged(session: Session, query: str, ids: Sequence[str]) -> dict[str, bool]:
    """Whether each of these memories is accepted for this query; those that nothing was said of
    are left out."""
    if not session.store.feedback.state().given:
        return {}
    words = normalise(fields_of(session, session.redaction.redact_query(query)).text)
    verdicts = session.store.feedback.on([words])
    wanted = set(named_ids(ids))
    return {
        verdict.memory_id: verdict.accepted for verdict in verdicts if verdict.memory_id in wanted
    }


@operation(SEARCH, retry=True)
def judgements(session: Session) -> dict[str, dict[str, bool]]:
    """The questions that have an accepted result, the newest first: what stands of which
    memory."""
    log = session.store.feedback
    asked = {normalise(event.query): event.query for event in reversed(log.every())}
    found: dict[str, dict[str, bool]] = {words: {} for words in asked}
    for verdict in log.on([*asked]):
        found[verdict.words][verdict.memory_id] = verdict.accepted
    return {asked[words]: verdicts for words, verdicts in found.items() if any(verdicts.values())}


def gold_folder(home: Path) -> Path:
    """The default folder of a gold set: questions that were judged apart from searches."""
    return home / "gold"


class ReplayedQuestion:
    """A question that is searched again: the best results, each with the parts of its score by
    name, and which of them are accepted."""

    def __init__(self, session: Session, recipe: Recipe, query: str) -> None:
        verdicts = session.store.feedback.on([normalise(query)])
        search = prepare_search(session, query, limit=REPLAYED).search
        found = in_vault(session, recipe, search)
        self._accepted = {verdict.memory_id for verdict in verdicts if verdict.accepted}
        self._parts = {
            result.id: {part.name: part.value for part in result.explain.leaves()}
            for result in found
        }

    def pairs(self) -> Iterator[dict[str, float]]:
        """How each accepted result differs from the best of the others, part by part."""
        parts = self._parts
        rivals = [id for id in parts if id not in self._accepted][:RIVALS]
        for id in self._accepted & parts.keys():
            for rival in rivals:
                names = parts[id].keys() | parts[rival].keys()
                yield {name: parts[id].get(name, 0) - parts[rival].get(name, 0) for name in names}

    def reciprocal_rank(self, factors: Mapping[str, float]) -> float:
        """That of the best accepted result, with each part times its factor, 1 where there is none.
        Ranks count from 1; 0 where no accepted result was found."""
        scores = {
            id: sum(value * factors.get(name, 1.0) for name, value in parts.items())
            for id, parts in self._parts.items()
        }
        best = sorted(scores, key=lambda id: order(scores[id], id))
        places = (place for place, id in enumerate(best, start=1) if id in self._accepted)
        return 1 / next(places, float("inf"))


def is_due(session: Session) -> bool:
    """Whether there is enough feedback that is new."""
    recipe, log = session.recipe(), session.store.feedback
    if recipe.feedback is None:
        return False
    rule, last = recipe.feedback.learning, lesson_for(recipe, log.state().lesson)
    known = last.questions if last is not None else 0
    return len(log.questions()) >= max(rule.after, known + rule.every)


def learn(session: Session, stop: Callable[[], bool]) -> None:
    """Learn the weights of the default recipe; nothing where `stop` says so meanwhile."""
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
    held_out, fit = (_replayed(half, factors) for half in (older, newer))
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
    """The recipe's sum of channels and signals alone, which the weights are for. Feedback itself
    would put every accepted result first."""
    stages = tuple(
        replace(stage, signals=tuple(one for one in stage.signals if one.name != "feedback"))
        for stage in recipe.stages
        if isinstance(stage, Bonus)
    )
    return replace(recipe, stages=(*stages, Cut()), feedback=None, deep=None)


def _replayed(questions: Sequence[ReplayedQuestion], factors: Mapping[str, float]) -> Replay:
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
    """How many results are accepted and dismissed now."""
    return session.store.feedback.count_standing()
