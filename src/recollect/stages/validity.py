"""What no longer holds, does not hold yet, or is replaced stands below what holds."""

from __future__ import annotations

from math import inf, nextafter

from recollect.context import SearchContext
from recollect.recipes.ranges import Share
from recollect.stages.base import Stage
from recollect.times import validity
from recollect.types import Hit, Ranking, combine, leaf


class Validity(Stage, frozen=True, tag="validity"):
    """A memory whose `valid_until` has passed, or whose `valid_from` lies ahead, goes below every
    valid one that answers the query too: one that has at least `share` of its score. One that
    another seems to replace goes below those that have `share_if_replaced` of its score: that is a
    belief, and costs less. None is dropped. A query about the past, or about a time, wants what
    held then: nothing is moved."""

    about = "below what is valid now"
    family = "time"

    share: Share = 0.5
    share_if_replaced: Share = 0.75
    name: str = "validity"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        expired = {id: validity(context.memory(id), context.now) for id in ranking.ids}
        replaced = {
            hit.memory_id: f"seems to be replaced by {newer.id}"
            for hit in ranking
            if (newer := hit.findings.seems_replaced_by)
            and not context.understanding.wants_before(newer, context.memory(hit.memory_id))
        }
        if context.understanding.past or not (replaced or any(expired.values())):
            return ranking
        labels = {id: label or replaced.get(id, "") for id, label in expired.items()}
        valid = [hit.score for hit in ranking if not labels[hit.memory_id]]
        shares = {id: self.share if expired[id] else self.share_if_replaced for id in labels}
        return ranking.resorted(
            self._below(hit, valid, labels[hit.memory_id], shares[hit.memory_id]) for hit in ranking
        )

    def _below(self, hit: Hit, valid: list[float], label: str, share: float) -> Hit:
        answering = [score for score in valid if score >= share * hit.score]
        if not label or not answering or min(answering) > hit.score:
            return hit
        place = leaf(self.name, nextafter(min(answering), -inf), f"{label}: below what is valid")
        return hit.rescored(combine(hit.why.name, "min", (hit.why, place)))
