"""What no longer holds, does not hold yet, or is replaced stands below what holds."""

from __future__ import annotations

from math import inf, nextafter

from recollect.context import SearchContext
from recollect.recipes.ranges import Weight
from recollect.stages.base import Stage
from recollect.times import validity
from recollect.types import Hit, Ranking, combine, leaf


class Validity(Stage, frozen=True, tag="validity"):
    """A memory whose `valid_until` has passed, or whose `valid_from` lies ahead, goes below every
    valid one that answers the query too: one that scores at most `within` less. None is dropped. A
    query about the past, or about a time, wants what held then: nothing is moved."""

    about = "below what is valid now"
    family = "time"

    within: Weight = 3.0
    name: str = "validity"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        labels = {id: validity(context.memory(id), context.now) for id in ranking.ids}
        if context.understanding.past or not any(labels.values()):
            return ranking
        valid = [hit.score for hit in ranking if not labels[hit.memory_id]]
        return ranking.resorted(self._below(hit, valid, labels[hit.memory_id]) for hit in ranking)

    def _below(self, hit: Hit, valid: list[float], label: str) -> Hit:
        answering = [score for score in valid if score >= hit.score - self.within]
        if not label or not answering or min(answering) > hit.score:
            return hit
        place = leaf(self.name, nextafter(min(answering), -inf), f"{label}: below what is valid")
        return hit.rescored(combine(hit.why.name, "min", (hit.why, place)))
