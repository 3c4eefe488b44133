"""Stages that raise or lower some results: floors, guaranteed places, and factors by kind."""

from __future__ import annotations

import heapq
from collections import Counter
from math import inf, nextafter, ulp

from msgspec import structs

from recollect.context import SearchContext
from recollect.query.terms import lower_words
from recollect.recipes.ranges import AtLeastOne, Factor, Number, Share, Weight
from recollect.signals.base import add_parts
from recollect.stages.base import Stage, cap_score
from recollect.times import validity
from recollect.types import Hit, Memory, Ranking, Term, combine, leaf, order

DONE = "_done"


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

        def lift(hit: Hit) -> Hit:
            words = matched_keywords(asked, context.memory(hit.memory_id))
            if not words or not hit.findings.verified:
                return hit
            how = f"{self.floor:g} · {len(words)}/{len(asked)} keywords: {', '.join(sorted(words))}"
            floor = leaf(self.name, self.floor * len(words) / len(asked), how)
            return hit.with_score(combine("floored", "max", (hit.why, floor)))

        return ranking.with_hits(map(lift, ranking))


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
        return ranking.keep(kept, self.name)


class ScoreFloor(Stage, frozen=True, tag="score_floor"):
    """Drops results under `floor`, except those that the reranker did not reach."""

    needs = ("reranking",)

    floor: Share = 0.03
    name: str = "score_floor"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        kept = (hit for hit in ranking if hit.score >= self.floor or hit.findings.unreached)
        return ranking.keep(kept, self.name)


class ExactFloor(Stage, frozen=True, tag="exact_floor"):
    """Lifts the best memory with an exact term of the query into the last places if no result has
    the term: a name is found however many memories are nearer in meaning. At most `share` of the
    places are used, at least one and never the first; with 0 none is."""

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
        terms = {id: context.exact_terms(id) for id in ranking.ids}
        shown = ranking.hits[:limit]
        held = Counter(term for hit in shown for term in terms[hit.memory_id])
        sole = {
            hit.memory_id
            for hit in shown
            if any(held[term] == 1 for term in terms[hit.memory_id])  # in no other result
        }
        covered = {*held}
        lifted: list[Hit] = []
        for hit in ranking.hits[limit:]:
            if not covered.issuperset(terms[hit.memory_id]):
                covered.update(terms[hit.memory_id])
                lifted.append(hit)
        del lifted[max(1, int(self.share * limit)) :]
        place, room = len(shown), 0
        while room < len(lifted) and place > 1:
            place -= 1
            room += shown[place].memory_id not in sole
        if not room:
            return ranking
        # Hits above the place stay; below it, sole holders of a term are raised too.
        risen = [hit for hit in shown[place:] if hit.memory_id in sole] + lifted[:room]
        above = {term for hit in shown[:place] for term in terms[hit.memory_id]}
        raised: dict[str, Hit] = {}
        score = shown[place].score
        for hit in reversed(risen):
            new = [term for term in terms[hit.memory_id] if term not in above]
            how = f"holds {', '.join(new)}, which nothing above holds"
            raised[hit.memory_id] = self._raise(hit, score, how)
            score = raised[hit.memory_id].score
        for hit in reversed(shown[:place]):
            if hit.score <= score:
                raised[hit.memory_id] = self._raise(hit, score, "stays above what is lifted")
                score = raised[hit.memory_id].score
        return ranking.with_hits(raised.get(hit.memory_id, hit) for hit in ranking)

    def _raise(self, hit: Hit, score: float, how: str) -> Hit:
        """Return the hit just above this score; the difference becomes a part of its sum."""
        lift = score - hit.score
        while (why := add_parts(hit.why, leaf(self.name, lift, how))).value <= score:
            lift += ulp(max(abs(score), abs(lift)))
        return hit.with_score(why)


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
        return ranking.with_hits((*ranking.hits, *joined.hits)) if joined else ranking


class Validity(Stage, frozen=True, tag="validity"):
    """Moves a memory whose `valid_until` has passed, or whose `valid_from` is in the future, below
    every valid one that scores at most `within` less. Nothing is dropped. A query about the past or
    a time wants what held then, so nothing is moved."""

    about = "below what is valid now"
    family = "time"

    within: Weight = 3.0
    name: str = "validity"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        labels = {id: validity(context.memory(id), context.now) for id in ranking.ids}
        if context.understanding.asks_about_past or not any(labels.values()):
            return ranking
        valid = [hit.score for hit in ranking if not labels[hit.memory_id]]
        return ranking.with_hits(self._below(hit, valid, labels[hit.memory_id]) for hit in ranking)

    def _below(self, hit: Hit, valid: list[float], label: str) -> Hit:
        answering = [score for score in valid if score >= hit.score - self.within]
        if not label or not answering or min(answering) > hit.score:
            return hit
        place = leaf(self.name, nextafter(min(answering), -inf), f"{label}: below what is valid")
        return hit.with_score(combine(hit.why.name, "min", (hit.why, place)))


class Dismissed(Stage, frozen=True, tag="dismissed"):
    """Moves a memory that was dismissed for this very question below every accepted one, and below
    every other that scores at most `within` less. Nothing is dropped."""

    about = "dismissed for this question"
    family = "rarity"

    within: Weight = 3.0
    name: str = "dismissed"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        same = {id: opinion for id, opinion in context.opinions.items() if opinion.same}
        wrong = [hit for hit in ranking if hit.memory_id in same and same[hit.memory_id].raw < 0]
        dismissed = {hit.memory_id for hit in wrong}
        others = [hit for hit in ranking if hit.memory_id not in dismissed]
        placed: dict[str, Hit] = {}
        lowest = inf
        for hit in wrong:  # best first: they keep their order
            above = [
                other.score
                for other in others
                if other.memory_id in same or other.score >= hit.score - self.within
            ]
            lowest = min((lowest, *above)) if above else lowest
            if lowest <= hit.score:
                lowest = nextafter(lowest, -inf)
                how = f"{same[hit.memory_id].how}: below what you did not dismiss"
                place = leaf(self.name, lowest, how)
                why = combine(hit.why.name, "min", (hit.why, place))
                placed[hit.memory_id] = hit.with_score(why)
        if not placed:
            return ranking
        return ranking.with_hits(placed.get(hit.memory_id, hit) for hit in ranking)


def multiply(name: str, term: Term, factor: float, why: str) -> Term:
    return combine(name, "product", (term, leaf("factor", factor, why)))


class KindBoost(Stage, frozen=True, tag="kind_boost"):
    """Multiplies the fused score of memories of exactly these kinds, then keeps the best `pool`."""

    about = "its kind counts for more"

    factors: dict[str, Factor]
    pool: AtLeastOne
    name: str = "kind_boost"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        boosted = ranking.with_hits(self._boost(hit, context) for hit in ranking)
        return boosted.best(self.pool, "pool")

    def _boost(self, hit: Hit, context: SearchContext) -> Hit:
        kind = context.memory(hit.memory_id).kind
        if kind not in self.factors:
            return hit
        return hit.with_score(multiply(self.name, hit.why, self.factors[kind], f"kind {kind}"))


class KindAdjust(Stage, frozen=True, tag="kind_adjust"):
    """For `kind` and `kind_done`: score × factor, at most `cap`, or `unverified_cap` if no reranker
    verified it. Sorts again."""

    about = "its kind counts for more, or for less"
    needs = ("reranking",)

    kind: str
    factor: Factor
    name: str
    cap: Share = 1.0
    unverified_cap: Share = 0.70

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        return ranking.with_hits(self._adjust(hit, context) for hit in ranking)

    def _adjust(self, hit: Hit, context: SearchContext) -> Hit:
        kind = context.memory(hit.memory_id).kind
        if kind.removesuffix(DONE) != self.kind:
            return hit
        cap = self.cap if hit.findings.verified else self.unverified_cap
        term = multiply(self.name, hit.why, self.factor, f"kind {kind}")
        return hit.with_score(cap_score(self.name, term, cap))


class DonePenalty(Stage, frozen=True, tag="done_penalty"):
    """Multiplies the score of a kind that ends in `_done` by `factor`."""

    about = "its task is done"

    factor: Factor = 0.7
    name: str = "done"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        return ranking.with_hits(self._adjust(hit, context) for hit in ranking)

    def _adjust(self, hit: Hit, context: SearchContext) -> Hit:
        kind = context.memory(hit.memory_id).kind
        if not kind.endswith(DONE):
            return hit
        return hit.with_score(multiply(self.name, hit.why, self.factor, f"kind {kind}"))
