"""Which signals there are."""

from __future__ import annotations

from typing import Union

from recollect.signals.asked import AskedMatch
from recollect.signals.cosine import Cosine
from recollect.signals.decay import TemporalDecay
from recollect.signals.domain import DomainMatch, ProjectMatch
from recollect.signals.exact import ExactMatch
from recollect.signals.feedback import Feedback
from recollect.signals.importance import Importance
from recollect.signals.person import Person
from recollect.signals.rank import KeywordRank, VectorRank
from recollect.signals.recency import Recency
from recollect.signals.severity import Severity
from recollect.signals.tags import TagOverlap
from recollect.signals.tfidf import Semantic
from recollect.signals.tier import Tier
from recollect.signals.time_match import TimeMatch
from recollect.signals.title import Title
from recollect.signals.used import Used

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
