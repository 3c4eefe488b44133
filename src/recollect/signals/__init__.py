"""All signals, as a tagged union for msgspec."""

from __future__ import annotations

from typing import Union

from recollect.signals.properties import (
    AskedMatch,
    DomainMatch,
    Feedback,
    Importance,
    ProjectMatch,
    Recency,
    Severity,
    TagOverlap,
    TemporalDecay,
    Tier,
    TimeMatch,
    Used,
)
from recollect.signals.words import (
    Cosine,
    ExactMatch,
    KeywordRank,
    Person,
    Semantic,
    Title,
    VectorRank,
)

AnySignal = Union[  # noqa: UP007
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
