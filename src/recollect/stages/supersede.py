"""The stage that ranks a statement above the one that it replaces.

Links were made by people; everything else here is a belief of the ranking.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from math import inf, nextafter

from msgspec.structs import replace

from recollect.context import ChannelRole, SearchContext
from recollect.query.exact import fold, holds
from recollect.query.intent import asks_for_successor
from recollect.query.replacement import (
    Statement,
    comparable,
    is_statement,
    replaced_by,
)
from recollect.recipes.ranges import AtLeastOne, Number, Weight
from recollect.stages.base import Stage
from recollect.times import day, validity
from recollect.types import Hit, Memory, Ranking, combine, leaf

# Statements about different things have a cosine of 0.4 to 0.6.
CHANGE_FROM = 0.6


def successors(context: SearchContext, memories: Iterable[Memory]) -> dict[str, Memory]:
    """Map the id of each linked memory to its successor: the last one that is valid now, else the
    last one."""
    found = {}
    for memory in memories:
        followed = _follow_links(context, memory) if memory.superseded_by else []
        valid = [later for later in followed if not validity(later, context.now)]
        if followed:
            found[memory.id] = (valid or followed)[-1]
    return found


def _follow_links(context: SearchContext, memory: Memory) -> list[Memory]:
    """Return the memories that the links lead to, in order. Imported links may form a ring."""
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


def filter_memories(context: SearchContext, memories: Sequence[Memory]) -> list[Memory]:
    """Return the memories that pass the filter of the search."""
    among = replace(context.search.filter, among=tuple(memory.id for memory in memories))
    return context.store.memories.browse(among, len(memories)) if memories else []


def asks_for_older(context: SearchContext, newer: Memory, older: Memory) -> bool:
    """Return True if the query asks for the older of two statements.

    Either only the older one has a name or number of the query; or the query names the older one's
    time or asks about the past, and the newer one has no such name alone. A query for a successor
    wants the newer.
    """
    query = context.search.query
    if asks_for_successor(query):
        return False
    names = {*context.understanding.names, *re.findall(r"\w*\d\w*", query)}
    texts = (fold(f"{each.title}\n{each.text}\n{each.details}") for each in (older, newer))
    older_has, newer_has = ({name for name in names if holds(text, name)} for text in texts)
    if older_has - newer_has:
        return True
    return not newer_has - older_has and asks_for_time_of(context, newer, older)


def asks_for_time_of(context: SearchContext, newer: Memory, older: Memory) -> bool:
    """Return True if the query names a time at which the older statement held, or asks about the
    past."""
    periods = context.understanding.effective_periods
    if not periods:
        return context.understanding.asks_for_former
    ends = [period.end for period in periods if period.end]
    if len(ends) < len(periods):
        return False  # up to now
    before = any(period.start is None for period in periods)
    return older.updated_at < max(ends) and (before or newer.updated_at >= max(ends))


def with_links(ranking: Ranking, context: SearchContext) -> Ranking:
    """Return the ranking with the links of each hit: its successor, and the memories it
    replaces."""
    newer = successors(context, map(context.memory, ranking.ids))
    older: dict[str, list[Memory]] = {}
    for memory in context.store.memories.list_replaced(ranking.ids):
        older.setdefault(memory.superseded_by, []).append(memory)
    if not (newer or older):
        return ranking
    hits = (_link_hit(hit, newer, older.get(hit.memory_id, ())) for hit in ranking)
    return replace(ranking, hits=tuple(hits))


def _link_hit(hit: Hit, newer: dict[str, Memory], older: Sequence[Memory]) -> Hit:
    """Return the hit with its links; linked memories are removed from its beliefs."""
    if older:
        known = {memory.id for memory in older}
        believed = tuple(each for each in hit.findings.seems_to_replace if each.id not in known)
        hit = hit.with_findings(replaces=tuple(older), seems_to_replace=believed)
    return hit.with_findings(superseded_by=newer[hit.memory_id]) if hit.memory_id in newer else hit


class Supersede(Stage, frozen=True, tag="supersede"):
    """Ranks a memory above those that it replaces by a link, and adds it if only those match the
    query.

    Of two statements of one project and space that match the query, the newer goes above the older
    if their scores differ at most by

        base + alike · cosine + shared · (words of the shorter in the longer)
             + change · (cosine − CHANGE_FROM), if the newer says that something changed

    A query about the past, or about a time before the newer was known, reverses this. Only the best
    `top` are compared, by vectors.
    """

    about = "newer than what it replaces, or what held at the time asked for"
    family = "time"

    base: Number = -1.6
    alike: Weight = 1.5
    shared: Weight = 2.9
    change: Weight = 16.0
    top: AtLeastOne = 20
    name: str = "supersede"

    @property
    def roles(self) -> tuple[ChannelRole, ...]:
        return ("vector",)

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        return self._newer_first(self._apply_links(ranking, context), context)

    def _apply_links(self, ranking: Ranking, context: SearchContext) -> Ranking:
        """Return the ranking with linked successors above what they replace."""
        newer = successors(context, map(context.memory, ranking.ids))
        if not newer or context.search.include_expired:
            return ranking
        hits = {hit.memory_id: hit for hit in ranking}
        others = {memory.id: memory for memory in newer.values() if memory.id not in hits}
        found = {memory.id for memory in filter_memories(context, list(others.values()))}
        for id, memory in {memory.id: memory for memory in newer.values()}.items():
            older = [context.memory(one) for one in ranking.ids if newer.get(one) == memory]
            wanted = [each for each in older if asks_for_time_of(context, memory, each)]
            if id in hits:
                self._place(hits, memory, older, wanted, context, "replaces")
            elif id in found and not wanted:
                best = hits[older[0].id]
                hits[id] = self._above(Hit(id, best.why), best, "replaces", context)
        return ranking.with_hits(hits.values())

    def _newer_first(self, ranking: Ranking, context: SearchContext) -> Ranking:
        if context.search.include_expired:
            return ranking
        # The successor of a linked memory is known.
        before = {
            hit.memory_id: hit
            for hit in ranking.hits[: self.top]
            if is_statement(memory := context.memory(hit.memory_id)) and not memory.superseded_by
        }
        cosines = context.cosines_between(list(before)) if len(before) > 1 else {}
        if not cosines:
            return ranking
        # Oldest first, so that a raised statement stays above the other.
        order = sorted(map(context.memory, before), key=lambda each: (each.updated_at, each.id))
        statements = [Statement(memory, context.store.keyword.tokens) for memory in order]
        believed = replaced_by(statements, cosines, context.now)
        hits = dict(before)
        for id, newer_id in believed.items():
            older = hits[newer_id].findings.seems_to_replace
            hits[newer_id] = hits[newer_id].with_findings(
                seems_to_replace=(*older, context.memory(id))
            )
            hits[id] = hits[id].with_findings(seems_replaced_by=context.memory(newer_id))
        for place, newer in enumerate(statements):
            if newer.memory.updated_at > context.now or validity(newer.memory, context.now):
                continue
            said_before = [
                older.memory
                for older in statements[:place]
                if comparable(older.memory, newer.memory)
                and abs(before[older.memory.id].score - before[newer.memory.id].score)
                <= self._allowed_difference(older, newer, cosines)
            ]
            wanted = [each for each in said_before if asks_for_older(context, newer.memory, each)]
            self._place(hits, newer.memory, said_before, wanted, context)
        if hits == before:
            return ranking
        return ranking.with_hits(hits.get(hit.memory_id, hit) for hit in ranking)

    def _allowed_difference(
        self, older: Statement, newer: Statement, cosines: Mapping[tuple[str, str], float]
    ) -> float:
        """Return the largest difference of scores of two statements about one thing."""
        ids = (older.memory.id, newer.memory.id)
        cosine = cosines.get(ids, cosines.get((ids[1], ids[0]), 0.0))
        said = max(0.0, cosine - CHANGE_FROM) if newer.says_change else 0.0
        alike, shared = self.alike * cosine, self.shared * newer.shared_words(older)
        return self.base + alike + shared + self.change * said

    def _place(
        self,
        hits: dict[str, Hit],
        newer: Memory,
        older: Sequence[Memory],
        wanted: Sequence[Memory],
        context: SearchContext,
        why: str = "newer than",
    ) -> None:
        """Raise the newer memory above the older ones, or the `wanted` older ones above it, the
        latest on top."""
        raised = list(wanted) or ([newer] if older else [])
        below = [newer] if wanted else list(older)
        for memory in raised:
            best = max((hits[each.id] for each in below), key=lambda hit: hit.score)
            if hits[memory.id].score <= best.score:
                how = "asked for rather than" if wanted else why
                hits[memory.id] = self._above(hits[memory.id], best, how, context)
            below.append(memory)

    def _above(self, hit: Hit, best: Hit, how: str, context: SearchContext) -> Hit:
        one, other = (context.memory(each.memory_id) for each in (hit, best))
        says = f"{day(one.updated_at)}, {how} {other.id} ({day(other.updated_at)}): just above"
        place = leaf(self.name, nextafter(best.score, inf), says)
        return hit.with_score(combine(hit.why.name, "max", (hit.why, place)))
