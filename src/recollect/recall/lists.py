"""Channels that list memories: all, by tag, accepted ones, and by kind and time."""

from __future__ import annotations

from msgspec.structs import replace

from recollect.context import SearchContext
from recollect.query.terms import keywords
from recollect.recall import Channel
from recollect.recipes.ranges import Depth
from recollect.types import Hit, Ranking, combine, leaf, ranked

# Source: the `covalence` recipe, "Browsing": core, capture, file; newest first in each.
GROUPS = {"core": 2.0, "capture": 1.0, "file": 0.0}


class Recent(Channel, frozen=True, tag="recent"):
    """All memories, for empty queries only: by tier, each newest first.

    The score is the tier's number plus `1/(1 + place)`, which gives the same order. Ages would not:
    all memories dated in the future have age 0.
    """

    about = "how new it is"
    family = "time"

    depth: Depth
    name: str = "recent"

    def applies(self, context: SearchContext) -> bool:
        return not context.search.query.strip()

    def recall(self, context: SearchContext) -> Ranking:
        narrowed = context.filter()
        if narrowed is None:
            return Ranking()
        browsed = context.store.memories.browse(narrowed, self.depth.at(context.limit))
        hits = []
        for place, memory in enumerate(browsed, start=1):
            group = leaf("tier", GROUPS[memory.tier], f"group of {memory.tier}")
            newest = leaf("newest", 1 / (1 + place), f"1/(1 + {place})")
            hits.append(Hit(memory.id, combine(self.name, "sum", (group, newest))))
        return Ranking(tuple(hits))


class Topic(Channel, frozen=True, tag="topic"):
    """Most matching keywords first, then newest, then id."""

    about = "tagged with the words"
    family = "words"

    depth: Depth
    name: str = "topic"

    def recall(self, context: SearchContext) -> Ranking:
        words = keywords(context.search.query)
        narrowed = context.filter()
        if not words or narrowed is None:
            return Ranking()
        found = context.store.topics.carrying(words, self.depth.at(context.limit), narrowed)
        # Not `ranked`: of equal counts the newest comes first.
        return Ranking(
            tuple(Hit(id, leaf(self.name, count, "tags that are keywords")) for id, count in found)
        )


class Accepted(Channel, frozen=True, tag="accepted"):
    """The memories that were accepted for the same question and pass the filter. Without any it
    takes no part."""

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


class Listed(Channel, frozen=True, tag="listed"):
    """The memories of a kind, project, severity and time, newest or oldest first, only for queries
    that ask for a list (`bugs from last month`, `latest decision`).

    The score is `1/place`.
    """

    about = "when it was made"
    family = "time"
    lists = True

    name: str = "listed"

    def recall(self, context: SearchContext) -> Ranking:
        how = f"{context.understanding.list_query.order} first"
        return Ranking(
            tuple(
                Hit(memory.id, leaf(self.name, 1 / place, f"{how}: 1/{place}"))
                for place, memory in enumerate(context.understanding.listed_memories, start=1)
            )
        )
