"""The last stages: the number of results, and the confidence in the first one."""

from __future__ import annotations

from msgspec import structs

from recollect.context import SearchContext
from recollect.maths import logistic
from recollect.recipes.ranges import Count, Share
from recollect.stages.base import Stage
from recollect.types import Judgement, Ranking

DIGITS = 4  # of a confidence


class Cut(Stage, frozen=True, tag="cut"):
    """Keeps the best `limit`. With a guard: if `guard_channel` found fewer than `guard_below`
    memories and the limit is less than `guard_share` of them, nothing is cut.

    Source of the guard: the `vault` recipe, "Small corpus guard".
    """

    gives = ("limit",)

    guard_channel: str = ""
    guard_below: Count = 0
    guard_share: Share = 0.5
    name: str = "cut"

    @property
    def channels(self) -> tuple[str, ...]:
        return (self.guard_channel,) if self.guard_channel else ()

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        found = len(context.channels.get(self.guard_channel, ()))
        if found < self.guard_below and context.limit < self.guard_share * found:
            context.note(
                f"Small corpus: all {len(ranking)} candidates are returned, not {context.limit}."
            )
            return ranking
        return ranking.best(context.limit, "limit")


class ConfidenceVerdict(Stage, frozen=True, tag="verdict"):
    """Judges the first result by `logistic(score)`: strong evidence from `strong` on, none under
    `weak`. Drops nothing. A list that the query asks for is strong. Needs a fusion whose scores are
    log odds."""

    needs = ("log_odds", "limit")

    strong: Share
    weak: Share
    name: str = "verdict"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        return structs.replace(ranking, judgement=self._judge(ranking, context))

    def _judge(self, ranking: Ranking, context: SearchContext) -> Judgement:
        if not ranking:
            return Judgement(0.0, "none")
        if context.understanding.lists:
            return Judgement(1.0, "strong")
        confidence = round(logistic(ranking.hits[0].score), DIGITS)
        if confidence >= self.strong:
            return Judgement(confidence, "strong")
        return Judgement(confidence, "weak" if confidence >= self.weak else "none")
