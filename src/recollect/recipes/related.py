"""`related`: memories about the same thing as another one. Internal: it is not for questions."""

from recollect.fuse import FeatureSum, FeatureWeights
from recollect.recall.keyword import Keyword
from recollect.recall.vector import Vector
from recollect.recipes.base import Limits, Recipe
from recollect.recipes.ranges import Depth
from recollect.stages.adjustments import MeaningFloor
from recollect.stages.ending import Cut, Neighbours

RELATED = Recipe(
    name="related",
    about="Memories near another one, by its words and its meaning.",
    source="docs/reference/recipes.md, related",
    view="scan",
    recall=(
        Keyword(
            index="stemmed",
            columns={"title": 5.0, "text": 1.0, "context": 1.0, "tags": 2.0},
            reading="keywords",
            depth=Depth(at_least=30),
        ),
        Vector(depth=Depth(at_least=30)),
    ),
    fuse=FeatureSum(
        weights=FeatureWeights(base=-2.1, keyword=1.8, bm25=0.8, vector=1.7),
        alone=FeatureWeights(base=-2.1, keyword=3.6, bm25=1.8),
        pool=Depth(at_least=30),
    ),
    stages=(MeaningFloor(), Neighbours(), Cut()),
    limits=Limits(default=5),
)
