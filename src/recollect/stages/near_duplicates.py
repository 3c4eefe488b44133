"""Memories that say the same in the same words take one place, not several."""

from __future__ import annotations

from collections.abc import Iterable, Set

from msgspec import Struct

from recollect.context import SearchContext
from recollect.query.sameness import ALIKE, FILLERS, same
from recollect.recipes.ranges import Count, Share
from recollect.types import Hit, Memory, Ranking


def said(memory: Memory, context: SearchContext) -> frozenset[str]:
    """The words that a memory's text is made of: stems, fillers left out. The title counts where
    there is nothing else."""
    reading = context.reading(memory.id)
    return frozenset(reading.body or reading.stems) - FILLERS


class NearDuplicates(Struct, frozen=True, tag="near_duplicates", forbid_unknown_fields=True):
    """Of the best `top`, or as many as will be returned, memories of one project and space that say
    the same are shown as one: the best of them. The others are counted, and named beside it.
    `alike` is the share of words they must have in common; with `top` 0 all are shown."""

    alike: Share = ALIKE
    top: Count = 20
    name: str = "near_duplicates"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        families: list[tuple[frozenset[str], list[Hit]]] = []
        top = max(self.top, context.limit) if self.top else 0
        for hit in ranking.hits[:top]:
            words = said(context.memory(hit.memory_id), context)
            family = self._family(words, context.memory(hit.memory_id), families, context)
            if family is None:
                families.append((words, [hit]))
            else:
                family.append(hit)
        kept = [self._shown(hits, context) for _, hits in families]
        self._forget_hidden({hit.memory_id for _, hits in families for hit in hits[1:]}, context)
        gone = len(ranking.hits[:top]) - len(kept)
        if not gone:
            return ranking
        dropped = ranking.dropped | {self.name: gone}
        return Ranking((*kept, *ranking.hits[top:]), dropped)

    def _family(
        self,
        words: Set[str],
        memory: Memory,
        families: Iterable[tuple[frozenset[str], list[Hit]]],
        context: SearchContext,
    ) -> list[Hit] | None:
        for known, hits in families:
            first = context.memory(hits[0].memory_id)
            together = (first.project, first.space) == (memory.project, memory.space)
            if together and same(words, known, self.alike):
                return hits
        return None

    def _forget_hidden(self, hidden: set[str], context: SearchContext) -> None:
        """What is shown as another is not named as replaced as well."""
        for id, older in context.newer.items():
            context.newer[id] = tuple(one for one in older if one.id not in hidden)

    def _shown(self, hits: list[Hit], context: SearchContext) -> Hit:
        best, *others = hits
        if others:
            context.twins[best.memory_id] = tuple(context.memory(hit.memory_id) for hit in others)
        return best
