"""`echovault`: keywords first, vectors only where keywords found little."""

from recollect.fuse import WeightedMax
from recollect.recall.keyword import Keyword
from recollect.recall.vector import Vector
from recollect.recipes.base import Limits, Recipe
from recollect.recipes.ranges import Depth
from recollect.stages.ending import Cut, Neighbours

COLUMNS = ("title", "text", "why", "impact", "tags", "kind", "project", "source")
DEPTH = Depth(per_result=2)

ECHOVAULT = Recipe(
    name="echovault",
    about="Tiered: keywords as prefixes; vectors join when fewer than three memories match.",
    source="docs/reference/recipes.md, echovault",
    view="pointer",
    recall=(
        Keyword(
            index="stemmed",
            columns=dict.fromkeys(COLUMNS, 1.0),
            reading="pieces",
            depth=DEPTH,
        ),
        Vector(depth=DEPTH, when="sparse", sparse_below=3),
    ),
    fuse=WeightedMax(weights={"keyword": 0.3, "vector": 0.7}),
    stages=(Neighbours(), Cut()),
    limits=Limits(default=5),
)
