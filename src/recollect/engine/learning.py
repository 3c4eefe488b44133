"""Learning weights from feedback: fitted to the newer half of the questions, and used only if the
older half, searched again with them, ranks what was accepted at least as well."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from recollect.engine.searching import completed, in_vault
from recollect.engine.session import Session
from recollect.query.likeness import normalised
from recollect.recipes.base import Recipe
from recollect.recipes.learned import Lesson, Replay, fitted, learnable, lesson_of, with_weights
from recollect.stages.cut import Cut
from recollect.stages.signal_sums import Bonus
from recollect.types import Response

# Each question is searched this deep: what stands further down is as good as not found.
REPLAYED = 30
# An accepted result is compared with so many others of its question, the best.
RIVALS = 10


class Question:
    """A question, the memories accepted for it, and how the declared weights rank them."""

    def __init__(self, session: Session, recipe: Recipe, query: str) -> None:
        said = session.store.feedback.on([normalised(query)])
        self._session = session
        self._query = query
        self._accepted = {one.memory_id for one in said if one.accepted}
        self._found = self._searched(recipe)
        self.before = self._reciprocal_rank(self._found)

    def after(self, recipe: Recipe) -> float:
        """The reciprocal rank of the best accepted result by another recipe."""
        return self._reciprocal_rank(self._searched(recipe))

    def pairs(self) -> Iterator[dict[str, float]]:
        """How each accepted result differs from the best of the others, part by part."""
        parts = {
            result.id: {part.name: part.value for part in result.explain.leaves()}
            for result in self._found
        }
        rivals = [id for id in parts if id not in self._accepted][:RIVALS]
        for id in self._accepted & parts.keys():
            for rival in rivals:
                names = parts[id].keys() | parts[rival].keys()
                yield {name: parts[id].get(name, 0) - parts[rival].get(name, 0) for name in names}

    def _searched(self, recipe: Recipe) -> Response:
        search = completed(self._session, self._query, limit=REPLAYED)
        return in_vault(self._session, recipe, search)

    def _reciprocal_rank(self, found: Response) -> float:
        """Ranks count from 1; 0 where no accepted result was found."""
        places = (place for place, one in enumerate(found, start=1) if one.id in self._accepted)
        return 1 / next(places, float("inf"))


def learn(session: Session) -> None:
    """Learn the weights of the default recipe, if there is enough feedback that is new."""
    recipe, log = session.recipe(), session.store.feedback
    if recipe.feedback is None:
        return
    rule, state, declared = recipe.feedback.learning, log.state(), learnable(recipe)
    asked = log.questions()
    last = lesson_of(state.lesson)
    known = last.questions if last is not None and last.declared == declared else 0
    if len(asked) < max(rule.after, known + rule.every):
        return
    plain = _without_feedback(recipe)
    questions = [Question(session, plain, event.query) for event in asked[-rule.most :]]
    older, newer = questions[: len(questions) // 2], questions[len(questions) // 2 :]
    weights = fitted(declared, [[*question.pairs()] for question in newer], rule.span)
    new = with_weights(plain, weights)
    held_out, fit = _replayed(older, new), _replayed(newer, new)
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


def _replayed(questions: list[Question], new: Recipe) -> Replay:
    ranks = [(question.before, question.after(new)) for question in questions]
    return Replay(
        questions=len(ranks),
        before=round(sum(before for before, _ in ranks) / len(ranks), 4),
        after=round(sum(after for _, after in ranks) / len(ranks), 4),
        better=sum(after > before for before, after in ranks),
        worse=sum(after < before for before, after in ranks),
    )
