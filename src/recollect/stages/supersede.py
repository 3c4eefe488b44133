"""What was said later about the same thing stands above what was said before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, nextafter

from msgspec import Struct

from recollect.context import SearchContext
from recollect.query.sameness import ALIKE, same
from recollect.recipes.ranges import AtLeastOne, Cosine, Share
from recollect.stages.near_duplicates import said
from recollect.times import iso
from recollect.types import Hit, Memory, Ranking, combine, leaf, ranked


class Supersede(Struct, frozen=True, tag="supersede", forbid_unknown_fields=True):
    """Of two memories of one project and space that state the same thing differently, the one
    changed later is placed above the other, which stays, with both dates shown.

    They state the same thing when their vectors' cosine is at least `cosine`, the shorter shares
    `overlap` of its words with the longer, and both are statements of at most `longest` characters
    rather than pages. Looked for among the best `top`. Needs vectors.
    """

    cosine: Cosine = 0.82
    overlap: Share = 0.5
    longest: AtLeastOne = 300
    top: AtLeastOne = 20
    name: str = "supersede"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        if context.understood:  # who asks for a time wants what held then
            return ranking
        hits = {hit.memory_id: hit for hit in self._statements(ranking, context)}
        # Oldest first, so that what is raised above something is above it for good.
        order = sorted(hits, key=lambda id: (context.memory(id).updated_at, id))
        older = self._older(order, context)
        raised: dict[str, Hit] = {}
        for id in order:
            above = max((raised.get(one, hits[one]) for one in older[id]), key=_score, default=None)
            if above is not None and hits[id].score <= above.score:
                raised[id] = self._above(hits[id], above, context)
            # What says the same in the same words is a twin, and named as one.
            others = [one for one in older[id] if not self._twins(id, one, context)]
            if others:
                context.newer[id] = tuple(context.memory(one) for one in others)
        if not raised:
            return ranking
        return ranked((raised.get(hit.memory_id, hit) for hit in ranking), ranking.dropped)

    def _twins(self, one: str, other: str, context: SearchContext) -> bool:
        return same(said(context.memory(one), context), said(context.memory(other), context), ALIKE)

    def _statements(self, ranking: Ranking, context: SearchContext) -> Iterator[Hit]:
        for hit in ranking.hits[: self.top]:
            if len(context.memory(hit.memory_id).text) <= self.longest:
                yield hit

    def _older(self, order: Sequence[str], context: SearchContext) -> dict[str, list[str]]:
        """For each memory those before it that state the same thing."""
        cosines = context.cosines_between(order) if len(order) > 1 else {}
        words = {id: said(context.memory(id), context) for pair in cosines for id in pair}
        found: dict[str, list[str]] = {id: [] for id in order}
        for (before, after), cosine in cosines.items():
            if cosine < self.cosine or not self._comparable(
                context.memory(before), context.memory(after)
            ):
                continue
            shared = len(words[before] & words[after])
            if shared >= self.overlap * min(len(words[before]), len(words[after])):
                found[after].append(before)
        return found

    def _comparable(self, before: Memory, after: Memory) -> bool:
        together = (before.project, before.space) == (after.project, after.space)
        return together and before.updated_at < after.updated_at

    def _above(self, hit: Hit, older: Hit, context: SearchContext) -> Hit:
        dates = (iso(context.memory(one.memory_id).updated_at) for one in (hit, older))
        how = f"of {next(dates)}: just above {older.memory_id} of {next(dates)}, which it replaces"
        place = leaf(self.name, nextafter(older.score, inf), how)
        return Hit(hit.memory_id, combine(hit.why.name, "max", (hit.why, place)))


def _score(hit: Hit) -> float:
    return hit.score
