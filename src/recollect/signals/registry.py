"""The union of all signals."""

from __future__ import annotations

from typing import Union

from recollect.signals.dates import Recency, TemporalDecay, TimeMatch
from recollect.signals.labels import (
    AskedMatch,
    DomainMatch,
    Importance,
    ProjectMatch,
    Severity,
    TagOverlap,
    Tier,
)
from recollect.signals.use import Feedback, Used
from recollect.signals.words import (
    Cosine,
    ExactMatch,
    KeywordRank,
    Person,
    Semantic,
    Title,
    VectorRank,
)

AnySignal = Union[  # noqa: UP007  a tagged union for msgspec, listed one a line
    Semantic,
    Cosine,
    Severity,
    TemporalDecay,
    TagOverlap,
    DomainMatch,
    ProjectMatch,
    KeywordRank,
    VectorRank,
    Tier,
    Title,
    Recency,
    ExactMatch,
    Person,
    TimeMatch,
    AskedMatch,
    Importance,
    Feedback,
    Used,
]
