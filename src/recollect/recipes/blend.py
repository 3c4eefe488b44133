"""`blend`: the default. Log odds of words and vectors, then what signals and a reranker add."""

from recollect.fuse import FeatureSum, FeatureWeights
from recollect.query.likeness import Likeness
from recollect.recall.keyword import Details, Exact, Keyword
from recollect.recall.lists import Accepted, Listed
from recollect.recall.vector import Vector
from recollect.recipes.base import FeedbackRule, Limits, Recipe
from recollect.recipes.ranges import Depth
from recollect.signals.properties import (
    AskedMatch,
    DomainMatch,
    Feedback,
    Importance,
    ProjectMatch,
    TagOverlap,
    TimeMatch,
    Used,
)
from recollect.signals.words import ExactMatch, Person
from recollect.stages.adjustments import Browsed, Dismissed, ExactFloor, Validity
from recollect.stages.ending import ConfidenceVerdict, Cut, NearDuplicates, Neighbours
from recollect.stages.rerank import RerankInterpolation
from recollect.stages.signal_sums import Bonus
from recollect.stages.supersede import Supersede

DEPTH = Depth(per_result=3, at_least=100)

BLEND = Recipe(
    name="blend",
    about="Words, meaning, names, time and labels as log odds, and a reranker.",
    source="docs/reference/recipes.md, blend",
    view="scan",
    recall=(
        Keyword(
            index="stemmed",
            columns={
                "id": 2.0, "title": 5.0, "text": 1.0, "context": 1.0, "tags": 2.0, "why": 1.0,
                "impact": 1.0, "kind": 0.5, "project": 1.0, "source": 1.0,
            },
            reading="keywords",
            depth=DEPTH,
            correct_typos=True,
            languages=True,
            smooth=True,
        ),
        Keyword(
            name="subwords",
            index="subwords",
            columns={"title": 2.0, "text": 1.0, "tags": 1.0, "other": 1.0},
            reading="subwords",
            depth=DEPTH,
            correct_typos=True,
            smooth=True,
        ),
        Exact(each=20),
        Details(weight=0.5),
        Vector(depth=DEPTH),
        Listed(),
        Accepted(),
    ),
    fuse=FeatureSum(
        weights=FeatureWeights(base=-2.1, keyword=1.8, bm25=0.8, vector=1.7),
        alone=FeatureWeights(base=-2.1, keyword=3.6, bm25=1.8),
        tokens=FeatureWeights(base=-2.0, keyword=1.2, bm25=0.8, vector=0.9, maxsim=1.4),
        added=("subwords", "details"),
        kept=("exact", "accepted"),
        pool=Depth(per_result=3, at_least=30),
    ),
    stages=(
        Bonus(
            signals=(
                Person(weight=0.4),
                ExactMatch(weight=2.5),
                TimeMatch(weight=2.0),
                AskedMatch(weight=1.0),
                TagOverlap(weight=0.5),
                DomainMatch(weight=0.25),
                ProjectMatch(weight=0.5),
                Importance(weight=0.25),
                Feedback(weight=4.0),
                Used(weight=0.0),
            ),
        ),
        RerankInterpolation(weight=0.18, bound=8.0, floor=-5.0, top=12, characters=450),
        Supersede(),
        NearDuplicates(alike=0.9),
        ExactFloor(share=0.1),
        Validity(within=1.5),
        Browsed(channel="listed"),
        Dismissed(within=1.5),
        Neighbours(),
        Cut(),
        ConfidenceVerdict(strong=0.95, weak=0.2),
    ),
    limits=Limits(default=10),
    feedback=FeedbackRule(likeness=Likeness(fitted_with=("bge-small-en-v1.5",))),
)  # fmt: skip
