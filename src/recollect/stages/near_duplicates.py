"""Memories that say the same in the same words take one place, not several."""

from __future__ import annotations

from collections.abc import Sequence

from recollect.context import SearchContext
from recollect.query.sameness import ALIKE, Wording
from recollect.recipes.ranges import Count, Share
from recollect.stages.base import Stage
from recollect.types import Hit, Ranking


class NearDuplicates(Stage, frozen=True, tag="near_duplicates"):
    """Of the best `top`, or as many as will be returned, memories of one project and space that say
    the same are shown as one: the best of them. The others are counted, and named beside it.
    `alike` is the share of words they must have in common; with `top` 0 all are shown."""

    alike: Share = ALIKE
    top: Count = 20
    name: str = "near_duplicates"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        groups: list[list[Hit]] = []
        together: dict[tuple[str, str], list[tuple[Wording, list[Hit]]]] = {}
        top = max(self.top, context.limit) if self.top else 0
        for hit in ranking.hits[:top]:
            memory, wording = context.memory(hit.memory_id), context.text(hit.memory_id).wording
            others = together.setdefault((memory.project, memory.space), [])
            group = next((hits for known, hits in others if wording.says(known, self.alike)), None)
            if group is None:
                groups.append([hit])
                others.append((wording, groups[-1]))
            else:
                group.append(hit)
        hidden = {hit.memory_id for hits in groups for hit in hits[1:]}
        if not hidden:
            return ranking
        kept = [_shown(hits, hidden, context) for hits in groups]
        rest = (_naming_only_shown(hit, hidden) for hit in ranking.hits[top:])
        return ranking.keeping((*kept, *rest), self.name)


def _shown(hits: Sequence[Hit], hidden: set[str], context: SearchContext) -> Hit:
    """The best of a group, which names the others."""
    best, *others = hits
    if others:
        best = best.finding(same=tuple(context.memory(hit.memory_id) for hit in others))
    return _naming_only_shown(best, hidden)


def _naming_only_shown(hit: Hit, hidden: set[str]) -> Hit:
    """Return the hit without beliefs about what is shown as another."""
    older, newer = hit.findings.seems_to_replace, hit.findings.seems_replaced_by
    if newer and newer.id in hidden:
        hit = hit.finding(seems_replaced_by=None)
    if not any(memory.id in hidden for memory in older):
        return hit
    return hit.finding(seems_to_replace=tuple(each for each in older if each.id not in hidden))
