"""What was said later about the same thing stands above what was said before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, nextafter

from recollect.context import ChannelRole, SearchContext
from recollect.query.sameness import ALIKE, same
from recollect.recipes.ranges import AtLeastOne, Cosine, Share
from recollect.stages.base import Stage
from recollect.stages.near_duplicates import content_stems
from recollect.types import Hit, Memory, Ranking, combine, leaf


class Supersede(Stage, frozen=True, tag="supersede"):
    """Of two memories of one project and space that state the same thing differently, the one
    changed later is placed above the other, which stays, with both dates shown.

    They state the same thing when their vectors' cosine is at least `cosine`, the shorter shares
    `overlap` of its words with the longer, and both are statements of at most `longest` characters
    rather than pages. Looked for among the best `top`. Needs vectors. A query that asks for a time
    wants what held then: nothing is moved.
    """

    about = "newer than what it replaces"
    family = "time"

    cosine: Cosine = 0.82
    overlap: Share = 0.5
    longest: AtLeastOne = 300
    top: AtLeastOne = 20
    name: str = "supersede"

    @property
    def roles(self) -> tuple[ChannelRole, ...]:
        return ("vector",)

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        if context.understanding.periods:
            return ranking
        hits = {hit.memory_id: hit for hit in self._statements(ranking, context)}
        # Oldest first, so that what is raised above something is above it for good.
        order = sorted(hits, key=lambda id: (context.memory(id).updated_at, id))
        changed = False
        for id, older in self._older(order, context).items():
            if not older:
                continue
            changed = True
            above = max((hits[other] for other in older), key=_score)
            if hits[id].score <= above.score:
                hits[id] = self._above(hits[id], above, context)
            # What says the same in the same words is a near duplicate, and named as one.
            replaced = [other for other in older if not _near_duplicates(id, other, context)]
            if replaced:
                hits[id] = hits[id].finding(replaces=tuple(map(context.memory, replaced)))
        if not changed:
            return ranking
        return ranking.resorted(hits.get(hit.memory_id, hit) for hit in ranking)

    def _statements(self, ranking: Ranking, context: SearchContext) -> Iterator[Hit]:
        for hit in ranking.hits[: self.top]:
            if len(context.memory(hit.memory_id).text) <= self.longest:
                yield hit

    def _older(self, order: Sequence[str], context: SearchContext) -> dict[str, list[str]]:
        """For each memory, oldest first, those before it that state the same thing."""
        cosines = context.cosines_between(order) if len(order) > 1 else {}
        stems = {id: content_stems(id, context) for pair in cosines for id in pair}
        found: dict[str, list[str]] = {id: [] for id in order}
        for (before, after), cosine in cosines.items():
            if cosine < self.cosine:
                continue
            if not _comparable(context.memory(before), context.memory(after)):
                continue
            shared = len(stems[before] & stems[after])
            if shared >= self.overlap * min(len(stems[before]), len(stems[after])):
                found[after].append(before)
        return found

    def _above(self, hit: Hit, older: Hit, context: SearchContext) -> Hit:
        new, old = (context.memory(one.memory_id).updated_at for one in (hit, older))
        how = f"newer ({new:%Y-%m-%d}) than {older.memory_id} ({old:%Y-%m-%d}): just above it"
        place = leaf(self.name, nextafter(older.score, inf), how)
        return hit.rescored(combine(hit.why.name, "max", (hit.why, place)))


def _comparable(before: Memory, after: Memory) -> bool:
    together = (before.project, before.space) == (after.project, after.space)
    return together and before.updated_at < after.updated_at


def _near_duplicates(id: str, other: str, context: SearchContext) -> bool:
    return same(content_stems(id, context), content_stems(other, context), ALIKE)


def _score(hit: Hit) -> float:
    return hit.score
