"""What a memory that was just saved is similar to: what says the same, what it seems to replace."""

from __future__ import annotations

from contextlib import suppress

from recollect.auth.capabilities import SEARCH
from recollect.deadline import NO_DEADLINE
from recollect.engine.comparison import (
    SAME_MEANING,
    is_compared,
    is_seen,
    plain_words,
    whole_text,
    wording_of,
)
from recollect.engine.session import Session
from recollect.errors import ProviderError, StoreError
from recollect.ingest.repeats import MOST_READ, sharing_words
from recollect.ingest.saving import ABOUT, REPLACES, SimilarMemory, SimilarReason
from recollect.query.cosine_scale import scale_of
from recollect.query.replacement import (
    VERY_ALIKE,
    Statement,
    Tokens,
    is_statement,
    seems_to_replace,
)
from recollect.query.sameness import ALIKE, same_facts
from recollect.types import Filter, Memory, order

MOST = 3  # whoever saves reads them: the best few


def similar(session: Session, memory: Memory, *, wait: bool = False) -> list[SimilarMemory]:
    found: list[SimilarMemory] = []
    if session.caller.may(SEARCH):
        with suppress(StoreError, ProviderError):
            if wait:
                session.background.settle(NO_DEADLINE)
            found = _found(session, memory)
    found.sort(key=lambda each: (each.why == ABOUT, each.why != REPLACES))
    return found[:MOST]


def _found(session: Session, memory: Memory) -> list[SimilarMemory]:
    store, now = session.store, session.clock()
    place = Filter(project=memory.project, space=memory.space)
    cosines = _nearest(session, memory, place)
    if not cosines:
        cosines = dict.fromkeys(sharing_words(store, whole_text(memory), place), 0.0)
    others = store.memories.get([id for id in cosines if id != memory.id])
    compared = _Compared(memory, store.keyword.tokens)
    ranked = sorted(others.values(), key=lambda each: order(cosines[each.id], each.id))
    reasons = (
        (other, compared.reason(other, cosines[other.id]))
        for other in ranked
        if is_compared(other, now)
    )
    return [SimilarMemory(other, why) for other, why in reasons if why is not None]


def _nearest(session: Session, memory: Memory, place: Filter) -> dict[str, float]:
    """The cosines of the nearest memories; none where its own vector is not made yet, or says
    nothing of the text."""
    if not session.models.embeds():
        return {}
    vectors, identity = session.store.vectors, session.models.embedder().identity
    if not is_seen(identity, memory):
        return {}
    own = vectors.stored(identity, [memory.id]).get(memory.id)
    found = vectors.nearest(identity, own[0].vector, MOST_READ, place) if own else []
    scale = scale_of(identity)
    return {match.memory_id: scale.english(match.score) for match in found}


class _Compared:
    """A saved memory as others are compared with it; its words are read once."""

    def __init__(self, memory: Memory, tokens: Tokens) -> None:
        self._memory, self._tokens = memory, tokens
        self._plain, self._wording = plain_words(memory), wording_of(memory, tokens)
        self._statement = Statement(memory, tokens)

    def reason(self, other: Memory, cosine: float) -> SimilarReason | None:
        if self._plain == plain_words(other):
            return "same words"
        if self._wording.says(wording_of(other, self._tokens), ALIKE):
            return "nearly the same words"
        if cosine >= SAME_MEANING and same_facts(whole_text(self._memory), whole_text(other)):
            return "same meaning"
        if self._replaces(other, cosine):
            return REPLACES
        return ABOUT if cosine >= VERY_ALIKE else None

    def _replaces(self, other: Memory, cosine: float) -> bool:
        """Whether the memory that was just saved seems to replace this one of the same project."""
        memory = self._memory
        if other.updated_at > memory.updated_at or not (
            is_statement(other) and is_statement(memory)
        ):
            return False
        if (other.project, other.space) != (memory.project, memory.space):
            return False
        return seems_to_replace(Statement(other, self._tokens), self._statement, cosine)
