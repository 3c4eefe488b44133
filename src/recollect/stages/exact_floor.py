"""Every exact term that some memory holds has a place in the answer."""

from __future__ import annotations

from collections.abc import Sequence
from math import ulp

from recollect.context import SearchContext
from recollect.recipes.ranges import Share
from recollect.signals.base import added
from recollect.stages.base import Stage
from recollect.types import Hit, Ranking, leaf


class ExactFloor(Stage, frozen=True, tag="exact_floor"):
    """Where none of the memories that will be returned holds one of the query's exact terms, the
    best memory that does is lifted onto the last places: a name is found however many memories are
    nearer in meaning. Of the places `share` is given away so, one at least, and never the first;
    with 0 none is."""

    about = "holds an exact term"
    family = "literal"

    share: Share = 0.1
    name: str = "exact_floor"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        limit = context.limit
        if not self.share or limit < 2 or len(ranking) <= limit:
            return ranking
        if not context.understanding.exact_terms:
            return ranking
        shown = ranking.hits[:limit]
        lifted = self._lifted(ranking, context)[: max(1, int(self.share * limit))]
        sole = self._sole_holders(shown, context)
        place, room = len(shown), 0
        while room < len(lifted) and place > 1:
            place -= 1
            room += shown[place].memory_id not in sole
        if not room:
            return ranking
        # Those above the place stay; of those below, the sole holders of a term rise with them.
        risen = [hit for hit in shown[place:] if hit.memory_id in sole] + lifted[:room]
        above = {term for hit in shown[:place] for term in context.exact_terms(hit.memory_id)}
        raised: dict[str, Hit] = {}
        score = shown[place].score
        for hit in reversed(risen):
            new = [term for term in context.exact_terms(hit.memory_id) if term not in above]
            raised[hit.memory_id] = self._raised(hit, score, new)
            score = raised[hit.memory_id].score
        return ranking.resorted(raised.get(hit.memory_id, hit) for hit in ranking)

    def _sole_holders(self, shown: Sequence[Hit], context: SearchContext) -> set[str]:
        """The memories of the answer that alone hold one of the terms."""
        holders: dict[str, list[str]] = {}
        for hit in shown:
            for term in context.exact_terms(hit.memory_id):
                holders.setdefault(term, []).append(hit.memory_id)
        return {ids[0] for ids in holders.values() if len(ids) == 1}

    def _lifted(self, ranking: Ranking, context: SearchContext) -> list[Hit]:
        """For each term that is not in the answer, the best hit that holds it; each hit once."""
        shown, rest = ranking.hits[: context.limit], ranking.hits[context.limit :]
        covered = {term for hit in shown for term in context.exact_terms(hit.memory_id)}
        lifted: list[Hit] = []
        for hit in rest:
            new = [term for term in context.exact_terms(hit.memory_id) if term not in covered]
            if new:
                covered.update(new)
                lifted.append(hit)
        return lifted

    def _raised(self, hit: Hit, score: float, terms: Sequence[str]) -> Hit:
        """The hit, just above this score: what it lacked is a part of its sum."""
        how = f"holds {', '.join(terms)}, which nothing above holds"
        lift = score - hit.score
        while (why := added(hit.why, leaf(self.name, lift, how))).value <= score:
            lift += ulp(max(abs(score), abs(lift)))
        return hit.rescored(why)
