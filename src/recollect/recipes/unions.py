"""Everything that a recipe may be made of. A search imports only the parts of its own recipe; what
turns plain values into a recipe needs them all."""

from __future__ import annotations

from typing import Union

from recollect.fuse import fusions
from recollect.fuse.feature_sum import FeatureSum
from recollect.recall.keyword import Details, Exact, Keyword
from recollect.recall.lists import Accepted, Listed, Recent, Topic
from recollect.recall.vector import Vector
from recollect.signals.registry import AnySignal
from recollect.stages import signal_sums
from recollect.stages.cross_encoder import CrossEncoder
from recollect.stages.cut import Cut
from recollect.stages.dismissed import Dismissed
from recollect.stages.exact_floor import ExactFloor
from recollect.stages.fixed_scores import Browsed, FixedScore
from recollect.stages.floors import KeywordFloor, MeaningFloor, ScoreFloor
from recollect.stages.kind_adjustments import DonePenalty, KindAdjust, KindBoost
from recollect.stages.near_duplicates import NearDuplicates
from recollect.stages.neighbours import Neighbours
from recollect.stages.rerank_interpolation import RerankInterpolation
from recollect.stages.signal_sums import Bonus, WeightedSum
from recollect.stages.supersede import Supersede
from recollect.stages.validity import Validity
from recollect.stages.verdict import ConfidenceVerdict

# Tagged unions for msgspec: what a recipe may be made of.
AnyChannel = Union[Keyword, Vector, Topic, Recent, Exact, Listed, Details, Accepted]  # noqa: UP007
AnyFusion = Union[fusions.Rrf, fusions.WeightedMax, fusions.Union, FeatureSum]  # noqa: UP007
AnyStage = Union[  # noqa: UP007
    WeightedSum,
    Bonus,
    FixedScore,
    Browsed,
    KindBoost,
    CrossEncoder,
    RerankInterpolation,
    Supersede,
    NearDuplicates,
    ExactFloor,
    Validity,
    Dismissed,
    KeywordFloor,
    KindAdjust,
    DonePenalty,
    ScoreFloor,
    MeaningFloor,
    Neighbours,
    Cut,
    ConfidenceVerdict,
]

# msgspec looks the names of annotations up in the module that has them, where only type checkers
# import this one.
vars(signal_sums).update(AnySignal=AnySignal)
