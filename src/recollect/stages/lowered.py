"""Stages that move results down, or multiply scores by kind."""

from __future__ import annotations

from math import inf, nextafter

from recollect.context import SearchContext
from recollect.recipes.ranges import AtLeastOne, Factor, Share, Weight
from recollect.stages.base import Stage
from recollect.stages.rerank import cap_score
from recollect.times import validity
from recollect.types import Hit, Ranking, Term, combine, leaf

DONE = "_done"


class Validity(Stage, frozen=True, tag="validity"):
    """Moves a memory whose `valid_until` has passed, or whose `valid_from` is in the future, below
    every valid one that scores at most `within` less. Nothing is dropped. A query about the past or
    a time wants what held then, so nothing is moved."""

    about = "below what is valid now"
    family = "time"

    within: Weight = 3.0
    name: str = "validity"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        labels = {id: validity(context.memory(id), context.now) for id in ranking.ids}
        if context.understanding.asks_about_past or not any(labels.values()):
            return ranking
        valid = [hit.score for hit in ranking if not labels[hit.memory_id]]
        return ranking.resorted(self._below(hit, valid, labels[hit.memory_id]) for hit in ranking)

    def _below(self, hit: Hit, valid: list[float], label: str) -> Hit:
        answering = [score for score in valid if score >= hit.score - self.within]
        if not label or not answering or min(answering) > hit.score:
            return hit
        place = leaf(self.name, nextafter(min(answering), -inf), f"{label}: below what is valid")
        return hit.rescored(combine(hit.why.name, "min", (hit.why, place)))


class Dismissed(Stage, frozen=True, tag="dismissed"):
    """Moves a memory that was dismissed for this very question below every accepted one, and below
    every other that scores at most `within` less. Nothing is dropped."""

    about = "dismissed for this question"
    family = "rarity"

    within: Weight = 3.0
    name: str = "dismissed"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        same = {id: opinion for id, opinion in context.opinions.items() if opinion.same}
        wrong = [hit for hit in ranking if hit.memory_id in same and same[hit.memory_id].raw < 0]
        dismissed = {hit.memory_id for hit in wrong}
        others = [hit for hit in ranking if hit.memory_id not in dismissed]
        placed: dict[str, Hit] = {}
        lowest = inf
        for hit in wrong:  # best first: they keep their order
            above = [
                other.score
                for other in others
                if other.memory_id in same or other.score >= hit.score - self.within
            ]
            lowest = min((lowest, *above)) if above else lowest
            if lowest <= hit.score:
                lowest = nextafter(lowest, -inf)
                how = f"{same[hit.memory_id].how}: below what you did not dismiss"
                place = leaf(self.name, lowest, how)
                why = combine(hit.why.name, "min", (hit.why, place))
                placed[hit.memory_id] = hit.rescored(why)
        if not placed:
            return ranking
        return ranking.resorted(placed.get(hit.memory_id, hit) for hit in ranking)


def multiply(name: str, term: Term, factor: float, why: str) -> Term:
    return combine(name, "product", (term, leaf("factor", factor, why)))


class KindBoost(Stage, frozen=True, tag="kind_boost"):
    """Multiplies the fused score of memories of exactly these kinds, then keeps the best `pool`."""

    about = "its kind counts for more"

    factors: dict[str, Factor]
    pool: AtLeastOne
    name: str = "kind_boost"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        boosted = ranking.resorted(self._boost(hit, context) for hit in ranking)
        return boosted.best(self.pool, "pool")

    def _boost(self, hit: Hit, context: SearchContext) -> Hit:
        kind = context.memory(hit.memory_id).kind
        if kind not in self.factors:
            return hit
        return hit.rescored(multiply(self.name, hit.why, self.factors[kind], f"kind {kind}"))


class KindAdjust(Stage, frozen=True, tag="kind_adjust"):
    """For `kind` and `kind_done`: score × factor, at most `cap`, or `unverified_cap` if no reranker
    verified it. Sorts again."""

    about = "its kind counts for more, or for less"
    needs = ("reranking",)

    kind: str
    factor: Factor
    name: str
    cap: Share = 1.0
    unverified_cap: Share = 0.70

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        return ranking.resorted(self._adjust(hit, context) for hit in ranking)

    def _adjust(self, hit: Hit, context: SearchContext) -> Hit:
        kind = context.memory(hit.memory_id).kind
        if kind.removesuffix(DONE) != self.kind:
            return hit
        cap = self.cap if hit.findings.verified else self.unverified_cap
        term = multiply(self.name, hit.why, self.factor, f"kind {kind}")
        return hit.rescored(cap_score(self.name, term, cap))


class DonePenalty(Stage, frozen=True, tag="done_penalty"):
    """Multiplies the score of a kind that ends in `_done` by `factor`."""

    about = "its task is done"

    factor: Factor = 0.7
    name: str = "done"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        return ranking.resorted(self._adjust(hit, context) for hit in ranking)

    def _adjust(self, hit: Hit, context: SearchContext) -> Hit:
        kind = context.memory(hit.memory_id).kind
        if not kind.endswith(DONE):
            return hit
        return hit.rescored(multiply(self.name, hit.why, self.factor, f"kind {kind}"))
