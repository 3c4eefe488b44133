"""All parts of recipes as tagged unions. A search imports only the parts of its own recipe; to
convert plain values to a recipe takes all of them."""

from __future__ import annotations

from typing import Union

from recollect.fuse import fusions
from recollect.fuse.feature_sum import FeatureSum
from recollect.recall.keyword import Details, Exact, Keyword
from recollect.recall.lists import Accepted, Listed, Recent, Topic
from recollect.recall.vector import Vector
from recollect.signals.registry import AnySignal
from recollect.stages import signal_sums
from recollect.stages.duplicates import NearDuplicates, Neighbours
from recollect.stages.ending import ConfidenceVerdict, Cut
from recollect.stages.floors import (
    Browsed,
    ExactFloor,
    FixedScore,
    KeywordFloor,
    MeaningFloor,
    ScoreFloor,
)
from recollect.stages.lowered import Dismissed, DonePenalty, KindAdjust, KindBoost, Validity
from recollect.stages.rerank import CrossEncoder, RerankInterpolation
from recollect.stages.signal_sums import Bonus, WeightedSum
from recollect.stages.supersede import Supersede

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

# msgspec resolves annotations in the module that has them, which imports this one only for type
# checkers.
vars(signal_sums).update(AnySignal=AnySignal)
