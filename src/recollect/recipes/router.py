"""`router`: every query runs on keywords; questions in sentences also run on meaning."""

from recollect.fuse import Rrf
from recollect.recall.keyword import Keyword
from recollect.recall.vector import Vector
from recollect.recipes.base import Limits, Recipe
from recollect.recipes.ranges import Depth
from recollect.stages.ending import Cut, Neighbours

DEPTH = Depth(per_result=1, at_least=100)

ROUTER = Recipe(
    name="router",
    about="An intent router: exact keywords always, vectors for questions of three words or more.",
    source="docs/reference/recipes.md, router",
    view="snippet",
    recall=(
        Keyword(
            index="plain",
            columns={"title": 10.0, "text": 1.0, "tags": 5.0},
            reading="boolean",
            depth=DEPTH,
        ),
        Vector(depth=DEPTH, when="semantic", least_cosine=0.3),
    ),
    fuse=Rrf(channels=("keyword", "vector"), k=60, alone="scores"),
    stages=(Neighbours(), Cut()),
    limits=Limits(default=10),
)
