"""Of statements about the same thing, the one that held at the time asked for stands first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, nextafter

from recollect.context import ChannelRole, SearchContext
from recollect.query.replacement import replaced_by
from recollect.query.sameness import ALIKE
from recollect.recipes.ranges import AtLeastOne
from recollect.stages.base import Stage
from recollect.stages.links import passing, successors
from recollect.times import day
from recollect.types import Hit, Memory, Ranking, combine, leaf


class Supersede(Stage, frozen=True, tag="supersede"):
    """A memory that took the place of another by a link is placed above it, and is found where only
    the other answers the query. Of two memories of one project and space of which the later seems
    to replace the other, each names the other, and the later is placed above. A query about the
    past, or about a time at which the later was not yet known, wants the other, which is placed
    above then.

    Looked for among those of the best `top` that are statements of at most `longest` characters
    rather than pages or parts of files. Needs vectors. What is said again in the same words is
    placed above as well, and named as a near duplicate.
    """

    about = "newer than what it replaces, or what held at the time asked for"
    family = "time"

    longest: AtLeastOne = 300
    top: AtLeastOne = 20
    name: str = "supersede"

    @property
    def roles(self) -> tuple[ChannelRole, ...]:
        return ("vector",)

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        return self._believed(self._linked(ranking, context), context)

    def _linked(self, ranking: Ranking, context: SearchContext) -> Ranking:
        """The ranking with what links lead to above what they lead from."""
        newer = successors(context, map(context.memory, ranking.ids))
        if not newer or context.search.include_expired:
            return ranking
        hits, understood = {hit.memory_id: hit for hit in ranking}, context.understanding
        others = {memory.id: memory for memory in newer.values() if memory.id not in hits}
        found = {memory.id for memory in passing(context, list(others.values()))}
        for id, memory in {memory.id: memory for memory in newer.values()}.items():
            older = [context.memory(one) for one in ranking.ids if newer.get(one) == memory]
            wanted = [each for each in older if understood.asks_for_time_of(memory, each)]
            if id in hits:
                self._place(hits, memory, older, wanted, context, "replaces")
            elif id in found and not wanted:
                best = hits[older[0].id]
                hits[id] = self._above(Hit(id, best.why), best, "replaces", context)
        return ranking.resorted(hits.values())

    def _believed(self, ranking: Ranking, context: SearchContext) -> Ranking:
        before = {hit.memory_id: hit for hit in self._statements(ranking, context)}
        # Oldest first, so that what is raised above something is above it for good.
        order = sorted(map(context.memory, before), key=lambda each: (each.updated_at, each.id))
        ids = [memory.id for memory in order]
        cosines = context.cosines_between(ids) if len(ids) > 1 else {}
        if not cosines:
            return ranking
        replaced = replaced_by(order, cosines, context.store.keyword.tokens, context.now)
        hits = dict(before)
        for place, newer in enumerate(order):
            older = [memory for memory in order[:place] if replaced.get(memory.id) == newer.id]
            for memory in older:
                hits[memory.id] = hits[memory.id].finding(seems_replaced_by=newer)
            if older:
                hits[newer.id] = hits[newer.id].finding(seems_to_replace=tuple(older))
            repeated = [memory for memory in order[:place] if _repeats(newer, memory, context)]
            if not context.search.include_expired:
                both = older + repeated
                wanted = [m for m in both if context.understanding.wants_before(newer, m)]
                self._place(hits, newer, both, wanted, context)
        if hits == before:
            return ranking
        return ranking.resorted(hits.get(hit.memory_id, hit) for hit in ranking)

    def _statements(self, ranking: Ranking, context: SearchContext) -> Iterator[Hit]:
        """Those of which something may be believed: of one that has a link, it is known."""
        for hit in ranking.hits[: self.top]:
            memory = context.memory(hit.memory_id)
            if self.is_statement(memory) and not memory.superseded_by:
                yield hit

    def is_statement(self, memory: Memory) -> bool:
        """Whether it is short enough to state one thing."""
        return len(memory.text) <= self.longest

    def _place(
        self,
        hits: dict[str, Hit],
        newer: Memory,
        older: Sequence[Memory],
        wanted: Sequence[Memory],
        context: SearchContext,
        why: str = "newer than",
    ) -> None:
        """Raise the newer above the others, or those that are `wanted` above it, the latest of them
        on top."""
        raised = list(wanted) or ([newer] if older else [])
        below = [newer] if wanted else list(older)
        for memory in raised:
            best = max((hits[each.id] for each in below), key=_score)
            if hits[memory.id].score <= best.score:
                how = "asked for rather than" if wanted else why
                hits[memory.id] = self._above(hits[memory.id], best, how, context)
            below.append(memory)

    def _above(self, hit: Hit, best: Hit, how: str, context: SearchContext) -> Hit:
        one, other = (context.memory(each.memory_id) for each in (hit, best))
        says = f"{day(one.updated_at)}, {how} {other.id} ({day(other.updated_at)}): just above"
        place = leaf(self.name, nextafter(best.score, inf), says)
        return hit.rescored(combine(hit.why.name, "max", (hit.why, place)))


def _repeats(newer: Memory, older: Memory, context: SearchContext) -> bool:
    """Whether both say the same in the same words."""
    together = (newer.project, newer.space) == (older.project, older.space)
    return (
        together
        and older.updated_at < newer.updated_at
        and context.text(newer.id).wording.says(context.text(older.id).wording, ALIKE)
    )


def _score(hit: Hit) -> float:
    return hit.score
