"""The topic channel: memories tagged with a keyword of the query, found by keyed hash."""

from __future__ import annotations

from msgspec import Struct

from recollect.at import At
from recollect.depth import Depth
from recollect.query.terms import keywords
from recollect.types import Hit, Ranking, leaf


class Topic(Struct, frozen=True, tag="topic", forbid_unknown_fields=True):
    """Most matching keywords first, then newest, then id."""

    depth: Depth
    name: str = "topic"

    def wanted(self, at: At) -> bool:
        return True

    def recall(self, at: At) -> Ranking:
        asked = keywords(at.query.text)
        narrowed = at.filter()
        if not asked or narrowed is None:
            return Ranking()
        found = at.store.topics.carrying(asked, self.depth.at(at.limit), narrowed)
        # Not sorted again: among equally many matches the newest stands first.
        return Ranking(
            tuple(Hit(id, leaf(self.name, count, "tags that are keywords")) for id, count in found)
        )
