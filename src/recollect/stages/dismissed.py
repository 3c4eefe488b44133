"""What was dismissed for this question stands below what was not."""

from __future__ import annotations

from math import inf, nextafter

from recollect.context import SearchContext
from recollect.recipes.ranges import Weight
from recollect.stages.base import Stage
from recollect.types import Hit, Ranking, combine, leaf


class Dismissed(Stage, frozen=True, tag="dismissed"):
    """A memory that was dismissed for this very question goes below every one that was accepted for
    it, whatever they score, and below every other that answers it too: one that was not dismissed
    and scores at most `within` less. It is never dropped."""

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
