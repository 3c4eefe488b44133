"""`gnosis`: vectors and topic hashes, fused by rank, verified by a cross-encoder."""

from msgspec.structs import replace

from recollect.fuse import Rrf
from recollect.recall.lists import Topic
from recollect.recall.vector import Vector
from recollect.recipes.base import Limits, Recipe
from recollect.recipes.ranges import Depth
from recollect.stages.adjustments import (
    DonePenalty,
    KeywordFloor,
    KindAdjust,
    KindBoost,
    ScoreFloor,
)
from recollect.stages.ending import Cut, Neighbours
from recollect.stages.rerank import CrossEncoder

BOOSTS = {"preference": 1.3, "summary": 1.4}
AFTER_RERANK = (
    KeywordFloor(floor=0.30),
    KindAdjust(name="preference", kind="preference", factor=1.25),
    KindAdjust(name="summary", kind="summary", factor=1.3),
    KindAdjust(name="result", kind="result", factor=0.6),
    DonePenalty(factor=0.7),
    ScoreFloor(floor=0.03),
    Neighbours(),
    Cut(),
)

DEEP = Recipe(
    name="gnosis",
    about="The same, wider: 256 candidates, always reranked, at least two keywords.",
    source="docs/reference/recipes.md, gnosis, deep search",
    view="preview",
    recall=(Vector(depth=Depth(at_least=256)), Topic(depth=Depth(at_least=192))),
    fuse=Rrf(channels=("vector", "topic"), k=60),
    stages=(KindBoost(factors=BOOSTS, pool=256), CrossEncoder(skip_below=0), *AFTER_RERANK),
    limits=Limits(default=100, most=100, least_keywords=2, inlined=5),
)

GNOSIS = replace(
    DEEP,
    about="Vectors and topic hashes fused by rank, reranked, with a floor for literal matches.",
    source="docs/reference/recipes.md, gnosis",
    recall=(Vector(depth=Depth(at_least=64)), Topic(depth=Depth(at_least=48))),
    stages=(KindBoost(factors=BOOSTS, pool=64), CrossEncoder(skip_below=5), *AFTER_RERANK),
    limits=Limits(default=32, most=32, least_keywords=1, inlined=3),
    deep=DEEP,
)
