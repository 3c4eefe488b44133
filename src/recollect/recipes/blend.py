"""`blend`: the default. Words and vectors by how far they stand out, then what reading adds."""

from recollect.fuse.zscore import ZScoreFusion
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
from recollect.signals.first_person import FirstPerson
from recollect.signals.importance import Importance
from recollect.signals.max_idf import MaxIdf
from recollect.signals.proximity import Proximity
from recollect.signals.tags import TagOverlap
from recollect.signals.time_match import TimeMatch
from recollect.signals.title import Title
from recollect.signals.used import Used
from recollect.stages.code_weights import CodeWeights
from recollect.stages.cut import Cut
from recollect.stages.dismissed import Dismissed
from recollect.stages.evidence import EvidenceRule, JudgeEvidence
from recollect.stages.exact_floor import ExactFloor
from recollect.stages.fixed_scores import Browsed
from recollect.stages.near_duplicates import NearDuplicates
from recollect.stages.neighbours import Neighbours
from recollect.stages.rerank_interpolation import RerankInterpolation
from recollect.stages.signal_sums import Bonus
from recollect.stages.supersede import Supersede
from recollect.stages.validity import Validity
from recollect.stages.vault_preference import VaultPreference

DEPTH = Depth(per_result=3, at_least=100)

BLEND = Recipe(
    name="blend",
    about="Words and vectors by how far they stand out, exact terms, nearness, a reranker.",
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
    fuse=ZScoreFusion(
        weights={"keyword": 1.0, "vector": 1.5},
        added={"subwords": "keyword", "details": "keyword"},
        kept=("exact", "accepted"),
        least_deviation={"keyword": 0.2, "vector": 0.02},
        pool=Depth(per_result=3, at_least=30),
    ),
    stages=(
        Bonus(
            signals=(
                Proximity(weight=3.0, within=3),
                MaxIdf(weight=1.0),
                ExactMatch(weight=2.0),
                Title(weight=2.0, bonus=1.0, least=2),
                FirstPerson(weight=2.0),
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
        CodeWeights(
            factors={
                "keyword": 0.25, "vector": 1.5, "proximity": 0.5, "max_idf": 0.5, "exact": 0.5,
            },
        ),
        RerankInterpolation(weight=0.25, bound=10.0, top=20, characters=450),
        VaultPreference(share=0.05),
        Supersede(longest=300),
        NearDuplicates(alike=0.9),
        ExactFloor(share=0.1),
        Validity(share=0.5, share_if_replaced=0.75),
        Browsed(channel="listed"),
        Dismissed(share=0.5),
        Neighbours(),
        Cut(),
        JudgeEvidence(
            seen=EvidenceRule(bias=-11.1, coverage=2.4, held=0.7, cosine=12.6, lead=7.0),
            foreign=EvidenceRule(bias=-4.7, coverage=3.4, near=4.0, known=2.5, lead=23.1),
            words=EvidenceRule(bias=-2.8, coverage=6.7),
            unread=EvidenceRule(bias=-2.6, coverage=8.8),
            many=EvidenceRule(bias=-11.9, coverage=3.1, cosine=12.0, lead=40.0),
            complete=0.95,
            opinion=0.5,
            strong=0.85,
            weak=0.25,
            fitted_with=("bge-small-en-v1.5", "ms-marco-minilm-l-12-v2"),
            many_with=("builtin:multilingual@",),
        ),
    ),
    limits=Limits(default=10),
    feedback=FeedbackRule(likeness=Likeness(fitted_with=("bge-small-en-v1.5",))),
)  # fmt: skip
