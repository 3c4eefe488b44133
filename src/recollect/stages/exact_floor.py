"""Every exact thing that some memory holds has a place in the answer."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nextafter

from msgspec import Struct

from recollect.context import SearchContext
from recollect.recipes.ranges import Share
from recollect.signals.exact import held
from recollect.types import Hit, Ranking, combine, leaf, ranked


class ExactFloor(Struct, frozen=True, tag="exact_floor", forbid_unknown_fields=True):
    """Where none of the memories that will be returned holds one of the query's exact things, the
    best memory that does is lifted onto the last places: a name is found however many memories are
    nearer in meaning. Of the places `share` is given away so, one at least, and never the first;
    with 0 none is."""

    share: Share = 0.1
    name: str = "exact_floor"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        if (
            not (self.share and context.exactly)
            or context.limit < 2
            or len(ranking) <= context.limit
        ):
            return ranking
        shown = ranking.hits[: context.limit]
        lifted = self._lifted(ranking, context)[: max(1, int(self.share * context.limit))]
        sole = self._sole_holders(shown, context)
        place, room = len(shown), 0
        while room < len(lifted) and place > 1:
            place -= 1
            room += shown[place].memory_id not in sole
        if not room:
            return ranking
        # Those above the place stay; of those below, the sole holders of something rise with them.
        risen = [hit for hit in shown[place:] if hit.memory_id in sole] + lifted[:room]
        raised = {
            hit.memory_id: self._raised(hit, shown[place], len(risen) - rank)
            for rank, hit in enumerate(risen)
        }
        return ranked((raised.get(hit.memory_id, hit) for hit in ranking), ranking.dropped)

    def _sole_holders(self, shown: Sequence[Hit], context: SearchContext) -> set[str]:
        """The memories of the answer that alone hold one of the things."""
        holders: dict[str, list[str]] = {}
        for hit in shown:
            for thing in held(context.reading(hit.memory_id), context.exactly):
                holders.setdefault(thing, []).append(hit.memory_id)
        return {ids[0] for ids in holders.values() if len(ids) == 1}

    def _lifted(self, ranking: Ranking, context: SearchContext) -> list[Hit]:
        """For each thing that is not in the answer, the best hit that holds it; each hit once."""
        shown, rest = ranking.hits[: context.limit], ranking.hits[context.limit :]
        said = {
            thing
            for hit in shown
            for thing in held(context.reading(hit.memory_id), context.exactly)
        }
        found: dict[str, Hit] = {}
        for hit in rest:
            new = [
                one
                for one in held(context.reading(hit.memory_id), context.exactly)
                if one not in said
            ]
            if new:
                said.update(new)
                found[hit.memory_id] = hit
        return list(found.values())

    def _raised(self, hit: Hit, place: Hit, steps: int) -> Hit:
        score = place.score
        for _ in range(steps):
            score = nextafter(score, inf)
        floor = leaf(self.name, score, "holds an exact term that nothing above holds")
        return Hit(hit.memory_id, combine(hit.why.name, "max", (hit.why, floor)))
