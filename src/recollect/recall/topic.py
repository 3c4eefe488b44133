"""The topic channel: memories tagged with a keyword of the query, found by keyed hash."""

from __future__ import annotations

from recollect.context import SearchContext
from recollect.query.terms import keywords
from recollect.recall.base import Channel
from recollect.recipes.ranges import Depth
from recollect.types import Hit, Ranking, leaf


class Topic(Channel, frozen=True, tag="topic"):
    """Most matching keywords first, then newest, then id."""

    about = "tagged with the words"
    family = "words"

    depth: Depth
    name: str = "topic"

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
