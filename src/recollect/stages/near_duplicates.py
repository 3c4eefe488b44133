"""Memories that say the same in the same words take one place, not several."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from recollect.context import SearchContext
from recollect.query.sameness import ALIKE, Wording
from recollect.recipes.ranges import Count, Share
from recollect.stages.base import Stage
from recollect.types import Hit, Memory, Ranking


def wording(id: str, context: SearchContext) -> Wording:
    """What a person reads of a memory: its title, its text and context."""
    text = context.text(id)
    return Wording.of(text.title, text.body)


class NearDuplicates(Stage, frozen=True, tag="near_duplicates"):
    """Of the best `top`, or as many as will be returned, memories of one project and space that say
    the same are shown as one: the best of them. The others are counted, and named beside it.
    `alike` is the share of words they must have in common; with `top` 0 all are shown."""

    alike: Share = ALIKE
    top: Count = 20
    name: str = "near_duplicates"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        groups: list[tuple[Wording, list[Hit]]] = []
        top = max(self.top, context.limit) if self.top else 0
        for hit in ranking.hits[:top]:
            said = wording(hit.memory_id, context)
            group = self._group(said, context.memory(hit.memory_id), groups, context)
            if group is None:
                groups.append((said, [hit]))
            else:
                group.append(hit)
        hidden = {hit.memory_id for _, hits in groups for hit in hits[1:]}
        if not hidden:
            return ranking
        kept = [_shown(hits, hidden, context) for _, hits in groups]
        rest = (_naming_only_shown(hit, hidden) for hit in ranking.hits[top:])
        return ranking.keeping((*kept, *rest), self.name)

    def _group(
        self,
        said: Wording,
        memory: Memory,
        groups: Iterable[tuple[Wording, list[Hit]]],
        context: SearchContext,
    ) -> list[Hit] | None:
        for known, hits in groups:
            first = context.memory(hits[0].memory_id)
            together = (first.project, first.space) == (memory.project, memory.space)
            if together and said.says(known, self.alike):
                return hits
        return None


def _shown(hits: Sequence[Hit], hidden: set[str], context: SearchContext) -> Hit:
    """The best of a group, which names the others."""
    best, *others = hits
    if others:
        best = best.finding(same=tuple(context.memory(hit.memory_id) for hit in others))
    return _naming_only_shown(best, hidden)


def _naming_only_shown(hit: Hit, hidden: set[str]) -> Hit:
    """What is shown as another is named neither as replaced nor as what replaces something."""
    replaces, newer = hit.findings.replaces, hit.findings.superseded_by
    if newer and newer.id in hidden:
        hit = hit.finding(superseded_by=None)
    if not any(memory.id in hidden for memory in replaces):
        return hit
    return hit.finding(replaces=tuple(memory for memory in replaces if memory.id not in hidden))
