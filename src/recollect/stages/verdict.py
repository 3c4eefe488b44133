"""Whether what was found answers the query at all: strong, weak or no evidence."""

from __future__ import annotations

from msgspec import structs

from recollect.context import SearchContext
from recollect.maths import logistic
from recollect.recipes.ranges import Share
from recollect.stages.base import Stage
from recollect.types import Judgement, Ranking

# Of a confidence.
DIGITS = 4


class ConfidenceVerdict(Stage, frozen=True, tag="verdict"):
    """Says how sure the first result is: `logistic(score)`. From `strong` on the evidence is
    strong, under `weak` there is none; nothing is dropped for it. A list that a query asks for is
    strong, since it holds what is asked for. Needs a fusion whose scores are log odds."""

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
