"""`covalence`: five signals by rank, in one formula."""

from recollect.fuse import Union
from recollect.recall.keyword import Keyword
from recollect.recall.lists import Recent
from recollect.recall.vector import Vector
from recollect.recipes.base import Limits, Recipe
from recollect.recipes.ranges import Depth
from recollect.signals.properties import Recency, Tier
from recollect.signals.words import KeywordRank, Title, VectorRank
from recollect.stages.adjustments import Browsed
from recollect.stages.ending import Cut, Neighbours
from recollect.stages.signal_sums import WeightedSum

DEPTH = Depth(per_result=1, at_least=100)
RELEVANCE = 0.90
FRESHNESS = 0.10

COVALENCE = Recipe(
    name="covalence",
    about="0.90 × (vector + keyword + tier + title) + 0.10 × recency, all but the last by rank.",
    source="docs/reference/recipes.md, covalence",
    view="scan",
    recall=(
        Vector(depth=DEPTH, dimensions=256),
        Keyword(index="stemmed", columns={"title": 5.0, "text": 1.0}, reading="words", depth=DEPTH),
        Recent(depth=Depth(per_result=1)),
    ),
    fuse=Union(channels=("vector", "keyword")),
    stages=(
        WeightedSum(
            signals=(
                VectorRank(weight=RELEVANCE),
                KeywordRank(weight=RELEVANCE),
                Tier(weight=RELEVANCE * 0.20),
                Title(weight=RELEVANCE),
                Recency(weight=FRESHNESS * 0.033),
            ),
        ),
        Browsed(channel="recent"),
        Neighbours(),
        Cut(),
    ),
    limits=Limits(default=10),
)
