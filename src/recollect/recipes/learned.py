"""The weights that a recipe has learned from feedback."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from math import exp, log
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from recollect.fuse import FeatureSum
from recollect.maths import logistic
from recollect.present.sentences import counted
from recollect.recipes.base import Recipe
from recollect.stages.signal_sums import Bonus, WeightedSum
from recollect.store.feedback import StoredFeedback

# Gradient descent: the number and size of steps, and the pull back to the declared weights. They
# converge on a few dozen questions.
STEPS, STEP, PULL = 200, 0.05, 0.1
# Decimal places of a learned weight; a smaller change is dropped.
DIGITS = 3


class Replay(Struct, frozen=True, kw_only=True):
    """Ranks of accepted results when their questions are searched again, with declared weights
    (`before`) and learned ones (`after`): mean reciprocal ranks, and the number of questions that
    got better or worse."""

    questions: int
    before: float
    after: float
    better: int
    worse: int


class Lesson(Struct, frozen=True, kw_only=True):
    """Weights learned from `questions` with an accepted result, and the evidence: `fit` for the
    newer questions, to which they were fitted, `held_out` for the older ones. `weights` are in use
    only if `applied`."""

    at: datetime
    questions: int
    declared: dict[str, float]
    weights: dict[str, float]
    fit: Replay
    held_out: Replay
    applied: bool


def learnable(recipe: Recipe) -> dict[str, float]:
    """Return the weights that can learn: those of the fused channels and of the added signals."""
    fused = recipe.fuse.weights.nonzero() if isinstance(recipe.fuse, FeatureSum) else {}
    signals = {
        signal.name: signal.weight
        for stage in recipe.stages
        if isinstance(stage, Bonus)
        for signal in stage.signals
        if signal.name != "feedback"
    }
    return {**fused, **signals}


def lesson_for(recipe: Recipe, text: str) -> Lesson | None:
    """Return the stored lesson, or None if the recipe's declared weights have changed since."""
    lesson = msgspec.json.decode(text, type=Lesson) if text else None
    return lesson if lesson and lesson.declared == learnable(recipe) else None


def with_learned_weights(recipe: Recipe, text: str) -> Recipe:
    """Return the recipe with its learned weights, if they are in use."""
    lesson = lesson_for(recipe, text)
    if lesson is None or not lesson.applied:
        return recipe
    weights, fuse = lesson.weights, recipe.fuse
    if isinstance(fuse, FeatureSum):
        factors = {name: weights[name] / weight for name, weight in fuse.weights.nonzero().items()}
        alone = {name: factors.get(name, 1.0) * own for name, own in fuse.alone.nonzero().items()}
        learned = {name: weights[name] for name in factors}
        fuse = replace(
            fuse, weights=replace(fuse.weights, **learned), alone=replace(fuse.alone, **alone)
        )
    stages = tuple(
        replace(
            stage,
            signals=tuple(
                replace(signal, weight=weights.get(signal.name, signal.weight))
                for signal in stage.signals
            ),
        )
        if isinstance(stage, Bonus)
        else stage
        for stage in recipe.stages
    )
    return replace(recipe, fuse=fuse, stages=stages)


def fit_weights(
    declared: Mapping[str, float], questions: Sequence[Sequence[Mapping[str, float]]], span: float
) -> dict[str, float]:
    """Return weights that rank accepted results above others more often.

    `questions` has for each question the differences between an accepted result and another one,
    part by part. The loss is pairwise logistic, `ln(1 + exp(−Σ fᵢ · difference))`, each question
    counted once, plus `PULL · Σ (ln fᵢ)²`; `fᵢ`, the factor of a weight, stays within
    `1/span…span`. A weight without evidence stays.
    """
    pairs = [
        ({name: value for name, value in pair.items() if value}, 1 / (len(each) * len(questions)))
        for each in questions
        for pair in each
    ]
    logs = dict.fromkeys((name for name in declared if any(name in pair for pair, _ in pairs)), 0.0)
    bound = log(span)
    for _ in range(STEPS):
        slope = {name: 2 * PULL * value for name, value in logs.items()}
        factors = {name: exp(value) for name, value in logs.items()}
        for pair, share in pairs:
            margin = sum(factors.get(name, 1.0) * value for name, value in pair.items())
            pull = share * logistic(-margin)
            for name in pair.keys() & slope.keys():
                slope[name] -= pull * pair[name] * factors[name]
        logs = {
            name: max(-bound, min(bound, value - STEP * slope[name]))
            for name, value in logs.items()
        }
    return {
        name: round(weight * exp(logs.get(name, 0.0)), DIGITS) for name, weight in declared.items()
    }


class Learned(Struct, frozen=True, kw_only=True):
    """The weights of a recipe as declared and as they are now; none if they do not learn. `events`
    are counted until `after`, when learning begins: questions with an accepted result, or for
    `vault` feedback events. `lesson`: the evidence, for weights that are tested before use.
    `feedback`: the recipe declares its use of feedback."""

    recipe: str
    feedback: bool = False
    weights: dict[str, tuple[float, float]] = {}
    events: int = 0
    after: int = 0
    lesson: Lesson | None = None


def learned_by(recipe: Recipe, log: StoredFeedback, *, vectors: bool) -> Learned:
    """Return the learned weights of a recipe. vectors: a model makes vectors."""
    if recipe.feedback is not None:
        text = log.state().lesson
        declared, now = learnable(recipe), learnable(with_learned_weights(recipe, text))
        return Learned(
            recipe=recipe.name,
            feedback=True,
            weights={name: (weight, now[name]) for name, weight in declared.items()},
            events=len(log.questions()),
            after=recipe.feedback.learning.after,
            lesson=lesson_for(recipe, text),
        )
    for stage in recipe.stages:
        if isinstance(stage, WeightedSum) and stage.adaptive is not None:
            events, declared = log.counts(), stage.declared_weights(vectors=vectors)
            now = stage.adaptive.adapt(declared, *events)
            return Learned(
                recipe=recipe.name,
                weights={name: (weight, now[name]) for name, weight in declared.items()},
                events=sum(events),
                after=stage.adaptive.after,
            )
    return Learned(recipe=recipe.name)


class WeightJson(Struct):
    """A signal's weight."""

    declared: float
    now: float


class LearnedJson(Struct):
    """The weights that a recipe learned from feedback, with the evidence."""

    recipe: str
    feedback: bool
    weights: dict[str, WeightJson]
    events: int
    after: int
    lesson: Lesson | None


def learned_json(found: Learned) -> dict[str, Any]:
    """Return learned weights as JSON."""
    plain: dict[str, Any] = msgspec.to_builtins(found)
    return plain | {"weights": weights_json(found)}


def weights_json(found: Learned) -> dict[str, dict[str, float]]:
    return {name: {"declared": a, "now": b} for name, (a, b) in found.weights.items()}


def learned_lines(found: Learned) -> Iterator[str]:
    """Yield a recipe's learned weights and their evidence, for people."""
    changed = {name: pair for name, pair in found.weights.items() if pair[0] != pair[1]}
    if not found.weights:
        yield f"{found.recipe}: its weights do not learn from feedback."
        return
    yield f"{found.recipe}: {counted(len(changed), 'weight')} changed."
    for name, (declared, now) in changed.items():
        share = f" ({100 * (now / declared - 1):+.0f} %)" if declared else ""
        yield f"  {name:<16}{declared:.4g} → {now:.4g}{share}"
    yield f"  {_evidence(found)}"


def _evidence(found: Learned) -> str:
    lesson = found.lesson
    if lesson is None:
        events = counted(found.events, "question" if found.feedback else "feedback event")
        which = " with an accepted result" if found.feedback else ""
        more = "" if found.events >= found.after else f"; learning begins with {found.after}"
        return f"{events}{which}{more}."
    test = lesson.held_out
    outcome = "Learned" if lesson.applied else "Tried"
    return (
        f"{outcome} on {lesson.at:%Y-%m-%d} from {lesson.fit.questions} questions with an accepted "
        f"result. Of {test.questions} older ones, searched again, {test.better} rank it higher and "
        f"{test.worse} lower (mean reciprocal rank {test.after:.3f}, declared {test.before:.3f})"
        + ("." if lesson.applied else ": not used, since nothing is better or the older are worse.")
    )
