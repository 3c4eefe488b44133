"""`tag_overlap`: the tags asked for against the tags a memory has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from recollect.context import SearchContext
from recollect.signals.base import Signal, SignalValue


def jaccard(one: Set[str], other: Set[str]) -> float:
    """Shared over all; 0 when neither has any."""
    return len(one & other) / len(one | other) if one or other else 0.0


class TagOverlap(Signal, frozen=True, tag="tag_overlap", kw_only=True):
    """Jaccard, case-insensitive; 0 when no tag is asked for."""

    about = "tags asked for"
    family = "structure"

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        asked = context.search.wanted_tags
        if not asked:
            return {}
        tags_of = {id: {tag.lower() for tag in context.memory(id).tags} for id in ids}
        how = f"tags asked for: {', '.join(sorted(asked))} (Jaccard)"
        return {id: SignalValue(jaccard(asked, tags), how) for id, tags in tags_of.items()}
