"""What links say of results: which memory took the place of which.

A link was made by somebody; what the ranking believes is in `supersede.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from recollect.context import SearchContext
from recollect.times import validity
from recollect.types import Hit, Memory, Ranking


def successors(context: SearchContext, memories: Iterable[Memory]) -> dict[str, Memory]:
    """By id, what took the place of each of these memories that has a link: of all that follow, the
    last that is valid now, else the last that is there."""
    found = {}
    for memory in memories:
        followed = _followed(context, memory) if memory.superseded_by else []
        valid = [later for later in followed if not validity(later, context.now)]
        if followed:
            found[memory.id] = (valid or followed)[-1]
    return found


def _followed(context: SearchContext, memory: Memory) -> list[Memory]:
    """The memories behind the links, in order. Links that were imported may form a ring."""
    followed: list[Memory] = []
    seen = {memory.id}
    while (link := memory.superseded_by) and link not in seen:
        context.load([link])
        if not context.has(link):
            break
        memory = context.memory(link)
        seen.add(link)
        followed.append(memory)
    return followed


def passing(context: SearchContext, memories: Sequence[Memory]) -> list[Memory]:
    """Those of these memories that pass the filter of the search."""
    among = replace(context.search.filter, among=tuple(memory.id for memory in memories))
    return context.store.memories.browse(among, len(memories)) if memories else []


def named(ranking: Ranking, context: SearchContext) -> Ranking:
    """The same ranking, in which each hit names what took its place and what it replaces, by
    links."""
    newer = successors(context, map(context.memory, ranking.ids))
    older: dict[str, list[Memory]] = {}
    for memory in context.store.memories.replaced(ranking.ids):
        older.setdefault(memory.superseded_by, []).append(memory)
    if not (newer or older):
        return ranking
    hits = (_naming(hit, newer, older.get(hit.memory_id, ())) for hit in ranking)
    return replace(ranking, hits=tuple(hits))


def _naming(hit: Hit, newer: dict[str, Memory], older: Sequence[Memory]) -> Hit:
    """Return the hit with its links; what is known is no longer believed."""
    if older:
        known = {memory.id for memory in older}
        believed = tuple(each for each in hit.findings.seems_to_replace if each.id not in known)
        hit = hit.finding(replaces=tuple(older), seems_to_replace=believed)
    return hit.finding(superseded_by=newer[hit.memory_id]) if hit.memory_id in newer else hit
