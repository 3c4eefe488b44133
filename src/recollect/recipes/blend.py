"""`blend`: the default. Log odds of words and vectors, then what signals and a reranker add."""

from recollect.fuse.feature_sum import FeatureSum, FeatureWeights, TokenWeights
from recollect.query.likeness import Likeness
from recollect.recall.accepted import Accepted
from recollect.recall.details import Details
from recollect.recall.exact import Exact
from recollect.recall.keyword import Keyword
from recollect.recall.listed import Listed
from recollect.recall.vector import Vector
from recollect.recipes.base import FeedbackRule, Limits, Recipe
from recollect.recipes.ranges import Depth
from recollect.signals.asked import AskedMatch
from recollect.signals.domain import DomainMatch, ProjectMatch
from recollect.signals.exact import ExactMatch
from recollect.signals.feedback import Feedback
from recollect.signals.importance import Importance
from recollect.signals.person import Person
from recollect.signals.tags import TagOverlap
from recollect.signals.time_match import TimeMatch
from recollect.signals.used import Used
from recollect.stages.cut import Cut
from recollect.stages.dismissed import Dismissed
from recollect.stages.exact_floor import ExactFloor
from recollect.stages.fixed_scores import Browsed
from recollect.stages.near_duplicates import NearDuplicates
from recollect.stages.neighbours import Neighbours
from recollect.stages.rerank_interpolation import RerankInterpolation
from recollect.stages.signal_sums import Bonus
from recollect.stages.supersede import Supersede
from recollect.stages.validity import Validity
from recollect.stages.vault_preference import VaultPreference
from recollect.stages.verdict import ConfidenceVerdict

DEPTH = Depth(per_result=3, at_least=100)

BLEND = Recipe(
    name="blend",
    about="Words, meaning, names, time and labels as log odds, and a reranker.",
    source="docs/recipes.md, blend",
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
        ),
        Keyword(
            name="subwords",
            index="subwords",
            columns={"title": 2.0, "text": 1.0, "tags": 1.0, "other": 1.0},
            reading="subwords",
            depth=DEPTH,
            correct_typos=True,
        ),
        Exact(each=20),
        Details(weight=0.5),
        Vector(depth=DEPTH),
        Listed(),
        Accepted(),
    ),
    fuse=FeatureSum(
        weights=FeatureWeights(keyword=5.8, vector=3.6),
        base=-4.7,
        alone=6.7,
        base_alone=-2.6,
        tokens=TokenWeights(keyword=4.3, vector=2.8, maxsim=3.9, base=-4.5),
        added=("subwords", "details"),
        kept=("exact", "accepted"),
        pool=Depth(per_result=3, at_least=30),
    ),
    stages=(
        Bonus(
            signals=(
                Person(weight=0.7),
                ExactMatch(weight=2.0),
                TimeMatch(weight=2.0),
                AskedMatch(weight=2.0),
                TagOverlap(weight=1.0),
                DomainMatch(weight=0.5),
                ProjectMatch(weight=1.0),
                Importance(weight=0.5),
                Feedback(weight=4.0),
                Used(weight=0.0),
            ),
        ),
        RerankInterpolation(weight=0.17, bound=10.0, floor=-5.0, top=20, characters=450),
        VaultPreference(most=0.5),
        Supersede(within=5.0),
        NearDuplicates(alike=0.9),
        ExactFloor(share=0.1),
        Validity(within=3.0),
        Browsed(channel="listed"),
        Dismissed(within=3.0),
        Neighbours(),
        Cut(),
        ConfidenceVerdict(strong=0.85, weak=0.05),
    ),
    limits=Limits(default=10),
    feedback=FeedbackRule(likeness=Likeness(fitted_with=("bge-small-en-v1.5",))),
)  # fmt: skip
