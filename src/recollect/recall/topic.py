"""The topic channel: memories tagged with a keyword of the query, found by keyed hash."""

from __future__ import annotations

from msgspec import Struct

from recollect.context import SearchContext
from recollect.depth import Depth
from recollect.query.terms import keywords
from recollect.types import Hit, Ranking, leaf


class Topic(Struct, frozen=True, tag="topic", forbid_unknown_fields=True):
    """Most matching keywords first, then newest, then id."""

    depth: Depth
    name: str = "topic"

    def wanted(self, context: SearchContext) -> bool:
        return True

    def recall(self, context: SearchContext) -> Ranking:
        asked = keywords(context.search.query)
        narrowed = context.filter()
        if not asked or narrowed is None:
            return Ranking()
        found = context.store.topics.carrying(asked, self.depth.at(context.limit), narrowed)
        # Not sorted again: among equally many matches the newest stands first.
        return Ranking(
            tuple(Hit(id, leaf(self.name, count, "tags that are keywords")) for id, count in found)
        )
