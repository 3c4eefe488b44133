"""Stages that guarantee a place or a least score to some results."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from math import ulp

from msgspec import structs

from recollect.context import SearchContext
from recollect.query.terms import lower_words
from recollect.recipes.ranges import Number, Share, Weight
from recollect.signals.base import add_parts
from recollect.stages.base import Stage
from recollect.types import Hit, Memory, Ranking, combine, leaf, order


def matched_keywords(asked: set[str], memory: Memory) -> set[str]:
    """Return the keywords that are whole words of title, text or tags: `how` is not in `show`."""
    return asked.intersection(lower_words(" ".join((memory.title, memory.text, *memory.tags))))


class KeywordFloor(Stage, frozen=True, tag="keyword_floor"):
    """`max(score, floor · matched / keywords)` for results that the reranker verified."""

    about = "literal matches are never buried"
    family = "literal"
    needs = ("reranking",)

    floor: Share = 0.30
    name: str = "keyword_floor"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        asked = set(context.understanding.keywords)
        if not asked:
            return ranking
        return ranking.resorted(self._raise(hit, asked, context) for hit in ranking)

    def _raise(self, hit: Hit, asked: set[str], context: SearchContext) -> Hit:
        if not hit.findings.verified:
            return hit
        words = matched_keywords(asked, context.memory(hit.memory_id))
        if not words:
            return hit
        how = f"{self.floor:g} · {len(words)}/{len(asked)} keywords: {', '.join(sorted(words))}"
        floor = leaf(self.name, self.floor * len(words) / len(asked), how)
        return hit.rescored(combine("floored", "max", (hit.why, floor)))


class MeaningFloor(Stage, frozen=True, tag="meaning_floor"):
    """Drops results without a word of the query that score under `floor`, since something is always
    nearest in meaning. Needs a fusion whose scores are log odds."""

    needs = ("log_odds",)

    floor: Number = -0.8  # three in ten
    name: str = "meaning_floor"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        worded = {
            id
            for name, found in context.channels.items()
            if not context.is_vector_channel(name)
            for id in found.ids
        }
        kept = (hit for hit in ranking if hit.score >= self.floor or hit.memory_id in worded)
        return ranking.keeping(kept, self.name)


class ScoreFloor(Stage, frozen=True, tag="score_floor"):
    """Drops results under `floor`, except those that the reranker did not reach."""

    needs = ("reranking",)

    floor: Share = 0.03
    name: str = "score_floor"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        kept = (hit for hit in ranking if hit.score >= self.floor or hit.findings.unreached)
        return ranking.keeping(kept, self.name)


class ExactFloor(Stage, frozen=True, tag="exact_floor"):
    """Lifts the best memory with an exact term of the query into the last places if no result has
    the term: a name is found however many memories are nearer in meaning.

    At most `share` of the places are used, at least one and never the first; with 0 none is.
    """

    about = "holds an exact term"
    family = "literal"

    share: Share = 0.1
    name: str = "exact_floor"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        limit = context.limit
        if not self.share or limit < 2 or len(ranking) <= limit:
            return ranking
        if not context.understanding.exact_terms:
            return ranking
        shown = ranking.hits[:limit]
        lifted = self._hits_to_lift(ranking, context)[: max(1, int(self.share * limit))]
        sole = self._sole_holders(shown, context)
        place, room = len(shown), 0
        while room < len(lifted) and place > 1:
            place -= 1
            room += shown[place].memory_id not in sole
        if not room:
            return ranking
        # Hits above the place stay; below it, sole holders of a term are raised too.
        risen = [hit for hit in shown[place:] if hit.memory_id in sole] + lifted[:room]
        above = {term for hit in shown[:place] for term in context.exact_terms(hit.memory_id)}
        raised: dict[str, Hit] = {}
        score = shown[place].score
        for hit in reversed(risen):
            new = [term for term in context.exact_terms(hit.memory_id) if term not in above]
            how = f"holds {', '.join(new)}, which nothing above holds"
            raised[hit.memory_id] = self._raise(hit, score, how)
            score = raised[hit.memory_id].score
        for hit in reversed(shown[:place]):
            if hit.score <= score:
                raised[hit.memory_id] = self._raise(hit, score, "stays above what is lifted")
                score = raised[hit.memory_id].score
        return ranking.resorted(raised.get(hit.memory_id, hit) for hit in ranking)

    def _sole_holders(self, shown: Sequence[Hit], context: SearchContext) -> set[str]:
        """Return the memories of the answer that alone hold one of the terms."""
        holders: dict[str, list[str]] = {}
        for hit in shown:
            for term in context.exact_terms(hit.memory_id):
                holders.setdefault(term, []).append(hit.memory_id)
        return {ids[0] for ids in holders.values() if len(ids) == 1}

    def _hits_to_lift(self, ranking: Ranking, context: SearchContext) -> list[Hit]:
        """Return the best hit for each term that is not in the answer, without repeats."""
        shown, rest = ranking.hits[: context.limit], ranking.hits[context.limit :]
        covered = {term for hit in shown for term in context.exact_terms(hit.memory_id)}
        lifted: list[Hit] = []
        for hit in rest:
            new = [term for term in context.exact_terms(hit.memory_id) if term not in covered]
            if new:
                covered.update(new)
                lifted.append(hit)
        return lifted

    def _raise(self, hit: Hit, score: float, how: str) -> Hit:
        """Return the hit just above this score; the difference becomes a part of its sum."""
        lift = score - hit.score
        while (why := add_parts(hit.why, leaf(self.name, lift, how))).value <= score:
            lift += ulp(max(abs(score), abs(lift)))
        return hit.rescored(why)


class FixedScore(Stage, frozen=True, tag="fixed_score"):
    """Adds everything that only `channel` found, with `score`. These hits tie and keep the
    channel's order."""

    channel: str
    score: Weight
    name: str = "fixed_score"

    @property
    def channels(self) -> tuple[str, ...]:
        return (self.channel,)

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        term = leaf(self.channel, self.score, f"fixed for channel {self.channel}")
        scored = set(ranking.ids)
        joined = context.channels.get(self.channel, Ranking())
        new = (Hit(id, term) for id in joined.ids if id not in scored)
        merged = heapq.merge(ranking, new, key=lambda hit: order(hit.score, hit.memory_id))
        return structs.replace(ranking, hits=tuple(merged))


class Browsed(Stage, frozen=True, tag="browsed"):
    """Adds everything that `channel` found, with the channel's own score."""

    channel: str
    name: str = "browsed"

    @property
    def channels(self) -> tuple[str, ...]:
        return (self.channel,)

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        joined = context.channels.get(self.channel, Ranking())
        return ranking.resorted((*ranking.hits, *joined.hits)) if joined else ranking
