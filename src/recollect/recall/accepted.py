"""The channel of accepted results: what was right for this question is always a candidate."""

from __future__ import annotations

from msgspec.structs import replace

from recollect.context import SearchContext
from recollect.recall.base import Channel
from recollect.types import Hit, Ranking, leaf, ranked


class Accepted(Channel, frozen=True, tag="accepted"):
    """The memories that were accepted for this very question and pass the filter. Takes no part
    where there are none."""

    about = "accepted for this question"
    family = "rarity"

    name: str = "accepted"

    def recall(self, context: SearchContext) -> Ranking | None:
        right = {
            id: opinion.how
            for id, opinion in context.opinions.items()
            if opinion.same and opinion.raw > 0
        }
        if not right:
            return None
        wanted = replace(context.search.filter, among=tuple(right))
        found = context.store.memories.newest(wanted, len(right))
        return ranked(Hit(memory.id, leaf(self.name, 1.0, right[memory.id])) for memory in found)
