"""`vault`: six weighted signals over keyword and vector recall."""

from recollect.fuse import Union
from recollect.recall.keyword import Keyword
from recollect.recall.vector import Vector
from recollect.recipes.base import Limits, Recipe
from recollect.recipes.ranges import Depth
from recollect.signals.properties import DomainMatch, Severity, TagOverlap, TemporalDecay
from recollect.signals.words import Cosine, Semantic
from recollect.stages.adjustments import FixedScore
from recollect.stages.ending import Cut, Neighbours
from recollect.stages.signal_sums import Adaptive, WeightedSum
from recollect.types import SESSION

COLUMNS = {"title": 10.0, "id": 5.0, "text": 3.0, "tags": 2.0, "context": 1.0}
DEPTH = Depth(per_result=3, at_least=30)

VAULT = Recipe(
    name="vault",
    about="Six weighted signals: words, vectors, severity, age, tags, domain.",
    source="docs/reference/recipes.md, vault",
    view="scan",
    recall=(
        Keyword(
            index="stemmed",
            columns=COLUMNS,
            reading="keywords",
            depth=DEPTH,
            without_kinds=(SESSION,),
        ),
        Vector(depth=DEPTH, without_kinds=(SESSION,)),
        Keyword(
            name=SESSION,
            index="stemmed",
            columns=COLUMNS,
            reading="keywords",
            depth=DEPTH,
            kind=SESSION,
        ),
    ),
    fuse=Union(channels=("keyword", "vector")),
    stages=(
        WeightedSum(
            signals=(
                Semantic(weight=0.40, with_vectors=0.25),
                Cosine(weight=0.00, with_vectors=0.15),
                Severity(weight=0.15),
                TemporalDecay(weight=0.15),
                TagOverlap(weight=0.15),
                DomainMatch(weight=0.15),
            ),
            adaptive=Adaptive(signal="semantic", fixed=("vector",)),
        ),
        FixedScore(name="session", channel=SESSION, score=0.5),
        Neighbours(),
        Cut(guard_channel="keyword", guard_below=50, guard_share=0.5),
    ),
    limits=Limits(default=10),
)
