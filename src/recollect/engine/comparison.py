"""Memories compared with each other: what says the same, what contradicts, and what one that was
just saved is similar to.

Everything is read once and nothing is compared with everything: words by an index of the rarest
ones, vectors by buckets: 40 s of one core for 100,000 (bench_duplicates.py). So a process
that stays keeps what it found, and looks again only when the vault has changed and a good while has
passed since, by how long it took.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, NamedTuple
from weakref import WeakKeyDictionary

from msgspec import Meta

from recollect.auth.capabilities import SEARCH, WRITE
from recollect.deadline import NO_DEADLINE
from recollect.engine.operations import operation
from recollect.engine.session import Session
from recollect.errors import ProviderError, StoreError
from recollect.ingest.saving import (
    ABOUT,
    MOST_READ,
    REPLACES,
    Sameness,
    SimilarMemory,
    SimilarReason,
    find_sharing_words,
)
from recollect.lifetime import Lifetime
from recollect.models.english import beginning, has_plain_letters
from recollect.query.likeness import SAME_SCALE, scale_of
from recollect.query.replacement import (
    VERY_ALIKE,
    Statement,
    Tokens,
    comparable,
    is_statement,
    seems_to_replace,
)
from recollect.query.sameness import ALIKE, Wording, nearly_equal, same_facts
from recollect.times import validity
from recollect.types import Filter, Memory, about, order

if TYPE_CHECKING:
    from recollect.store.vault import VaultStore

READ = 1000
# Cosines of the bundled embedder; benchmarks/duplicates.py measures them on pairs written for it.
SAME_MEANING = 0.9
CERTAIN_MEANING = 0.97
IN_TWO_PROJECTS = 0.5  # how sure it is that of the same words in two projects one can go
CONTRADICTING = 0.67  # below it the rule for replacements asks for more than words can show
RESTS = 20  # so many times as long as it took is waited before everything is compared again
# So many characters of a text are looked at: more tells nothing new.
LONGEST = 20_000
MOST = 3  # similar memories: whoever saves reads them


class DuplicateGroup(NamedTuple):
    """Memories that say the same, the one to keep first. `sure`: 0…1. `about`: for files, which."""

    reason: Sameness
    sure: float
    ids: tuple[str, ...]
    about: str = ""


class Contradiction(NamedTuple):
    """Two memories of which the newer seems to state now what the older stated before."""

    older: str
    newer: str


class Comparison(NamedTuple):
    duplicates: tuple[DuplicateGroup, ...]
    contradictions: tuple[Contradiction, ...]


class Kept(NamedTuple):
    state: int
    at: float
    took: float
    found: Comparison


_kept: WeakKeyDictionary[VaultStore, Kept] = WeakKeyDictionary()
_guard = threading.Lock()


def compared(session: Session, progress: Callable[[int], None] = lambda done: None) -> Comparison:
    """What comparing all memories found; see the module for when that is done again."""
    with _guard:
        kept, state = _kept.get(session.store), session.store.changes()
        if kept and session.lifetime is Lifetime.SERVER:
            rested = time.monotonic() - kept.at > RESTS * kept.took
            if kept.state == state or not rested:
                return kept.found
        start = time.monotonic()
        found = _compared(session, progress)
        end = time.monotonic()
        _kept[session.store] = Kept(state, end, end - start, found)
        return found


def _compared(session: Session, progress: Callable[[int], None]) -> Comparison:
    keys, memories = _read(session, progress)
    session.step("compare by meaning")
    cosines = _cosines(session, keys, memories)
    session.step("compare by words")
    groups = _Groups(memories)
    for pair, reason, sure in _same(session, memories, cosines):
        groups.join(*pair, reason, sure)
    found = [*groups.made(), *_files(session)]
    found.sort(key=lambda group: (-group.sure, group.ids))
    session.step("look for contradictions")
    grouped = {id: number for number, group in enumerate(found) for id in group.ids}
    contradictions = [
        pair
        for pair in _contradictions(session, memories, cosines)
        if grouped.get(pair.older, -1) != grouped.get(pair.newer, -2)
    ]
    return Comparison(tuple(found), tuple(contradictions))


def _read(session: Session, progress: Callable[[int], None]) -> tuple[list[int], list[Memory]]:
    keys, memories, now = [], [], session.clock()
    ids = session.store.memories.ids()
    for first in range(0, len(ids), READ):
        batch = ids[first : first + READ]
        session.step(f"read {first:,} of {len(ids):,} memories")
        for stored in session.store.memories.find(batch).values():
            if not stored.forgotten and is_compared(stored.memory, now):
                keys.append(stored.key)
                memories.append(stored.memory)
        progress(len(batch))
    return keys, memories


def is_compared(memory: Memory, now: datetime) -> bool:
    """Whether it says something now: no part of a file, since what a file says stands in the file;
    nothing that is archived, has a successor, or does not hold any more."""
    gone = memory.archived_at or memory.superseded_by or validity(memory, now)
    return not gone and memory.tier != "file"


def is_seen(identity: str, memory: Memory) -> bool:
    """Whether the model knows the letters of a memory: to the bundled English one all texts in
    Thai look alike."""
    english = identity.startswith("builtin:") and scale_of(identity) is SAME_SCALE
    return not english or has_plain_letters(beginning(memory))


def _cosines(
    session: Session, keys: Sequence[int], memories: Sequence[Memory]
) -> dict[tuple[int, int], float]:
    """The cosines of memories that are near each other; none without a model."""
    if not session.models.embeds() or len(keys) < 2:
        return {}
    import numpy as np  # noqa: PLC0415  start-up time

    from recollect.query.vector_pairs import near_pairs  # noqa: PLC0415  numpy

    identity = session.models.embedder().identity
    scale = scale_of(identity)
    found, vectors = session.store.vectors.whole(identity)
    places = dict(zip(keys, range(len(keys)), strict=True))
    rows = [row for row, key in enumerate(found) if key in places]
    of = [places[found[row]] for row in rows]
    least = scale.to_own(CONTRADICTING)
    pairs = near_pairs(vectors[np.array(rows, np.intp)], least) if rows else {}
    return {
        (min(of[one], of[two]), max(of[one], of[two])): scale.to_english(cosine)
        for (one, two), cosine in pairs.items()
        if is_seen(identity, memories[of[one]])
    }


def _same(
    session: Session, memories: Sequence[Memory], cosines: dict[tuple[int, int], float]
) -> Iterator[tuple[tuple[int, int], Sameness, float]]:
    """The pairs of one project and space that say the same, the surest first; last those that say
    it word for word in two projects, which may be meant."""
    tokens = session.store.keyword.tokens
    wordings: dict[int, Wording] = {}

    def wording(place: int) -> Wording:
        if place not in wordings:
            wordings[place] = wording_of(memories[place], tokens)
        return wordings[place]

    first: dict[tuple[str, ...], int] = {}
    anywhere: dict[tuple[str, str], int] = {}
    distinct, texts, apart = [], [], []
    for place, memory in enumerate(memories):
        plain = plain_words(memory)
        known = first.setdefault((*_place(memory), plain), place)
        if known != place:
            yield (known, place), "same words", 1.0
            continue
        distinct.append(place)
        texts.append(frozenset(plain.split()))
        other = anywhere.setdefault((memory.space, plain), place)
        if other != place:
            apart.append((other, place))
    for one, two in nearly_equal(texts, ALIKE - 0.1):  # stems are more alike than words
        pair = distinct[one], distinct[two]
        together = _place(memories[pair[0]]) == _place(memories[pair[1]])
        if together and wording(pair[0]).says(wording(pair[1]), ALIKE):
            shared = len(texts[one] & texts[two]) / len(texts[one] | texts[two])
            yield pair, "nearly the same words", round(0.9 + 0.09 * shared, 2)
    for (one, two), cosine in sorted(cosines.items(), key=lambda pair: -pair[1]):
        if cosine < SAME_MEANING:
            break
        if _place(memories[one]) == _place(memories[two]) and same_facts(
            whole_text(memories[one]), whole_text(memories[two])
        ):
            yield (one, two), "same meaning", sureness(cosine)
    for pair in apart:
        yield pair, "same words", IN_TWO_PROJECTS


def wording_of(memory: Memory, tokens: Tokens) -> Wording:
    """What a person reads of it, as stems."""
    return Wording.of(tokens(memory.title), tokens(memory.text[:LONGEST]))


def sureness(cosine: float) -> float:
    """How sure it is that two texts of this cosine, with the same facts, mean the same: from 0.6 at
    the least to 0.9. benchmarks/duplicates.py shows what share of such pairs does."""
    share = (cosine - SAME_MEANING) / (CERTAIN_MEANING - SAME_MEANING)
    return round(0.6 + 0.3 * min(share, 1.0), 2)


def _place(memory: Memory) -> tuple[str, str]:
    return memory.project, memory.space


def whole_text(memory: Memory) -> str:
    """Title and text, as far as they are compared."""
    return f"{memory.title}. {memory.text[:LONGEST]}" if memory.title else memory.text[:LONGEST]


def plain_words(memory: Memory) -> str:
    """Its words in small letters, without the punctuation around them."""
    return " ".join(word.strip(".,;:!?\"'()").lower() for word in whole_text(memory).split())


class _Groups:
    """Pairs put together around the first memory of each group: a long chain of small differences
    makes no group."""

    def __init__(self, memories: Sequence[Memory]) -> None:
        self._memories = memories
        self._of: dict[int, int] = {}
        self._groups: dict[int, tuple[Sameness, float, list[int]]] = {}

    def join(self, one: int, two: int, reason: Sameness, sure: float) -> None:
        """Pairs come with the surest first, so a group is as sure as its last one."""
        if two in self._of:
            one, two = two, one
        if two in self._of or self._of.get(one, one) != one:
            return
        _, _, members = self._groups.get(one, (reason, sure, [one]))
        self._groups[one] = (reason, sure, [*members, two])
        self._of[one] = self._of[two] = one

    def made(self) -> Iterator[DuplicateGroup]:
        for reason, sure, places in self._groups.values():
            members = sorted((self._memories[place] for place in places), key=_rank)
            yield DuplicateGroup(reason, sure, tuple(memory.id for memory in members))


def _rank(memory: Memory) -> tuple[object, ...]:
    """The one to keep comes first: pinned, then the longest, then the newest."""
    length = len(memory.text) + len(memory.details)
    return memory.tier != "core", -length, -memory.updated_at.timestamp(), memory.id


def _files(session: Session) -> Iterator[DuplicateGroup]:
    """Files with the same content in two folders; each by its first part."""
    for copies in session.store.folders.copies():
        ids = tuple(copy.memory_id for copy in copies)
        about = ", ".join(copy.path for copy in copies)
        yield DuplicateGroup("same file", 1.0, ids, about)


def _contradictions(
    session: Session, memories: Sequence[Memory], cosines: dict[tuple[int, int], float]
) -> Iterator[Contradiction]:
    """The pairs of which the newer seems to replace the older."""
    statements: dict[int, Statement] = {}
    tokens = session.store.keyword.tokens
    for pair, cosine in sorted(cosines.items()):
        if not all(is_statement(memories[place]) for place in pair):
            continue
        for place in pair:
            if place not in statements:
                statements[place] = Statement(memories[place], tokens)
        older, newer = sorted(pair, key=lambda place: (memories[place].updated_at, place))
        if comparable(memories[older], memories[newer]) and seems_to_replace(
            statements[older], statements[newer], cosine
        ):
            yield Contradiction(memories[older].id, memories[newer].id)


@operation(WRITE, retry=True)
def similar(session: Session, memory: Memory, *, wait: bool = False) -> list[SimilarMemory]:
    """The memories of the same project and space that a saved one is similar to: what it seems
    to replace, then what says the same, then what is about the same thing.

    One look at the vectors, or into the index of words where its own vector is not made yet;
    `wait` waits for that. Nothing for a caller who may not read. A failure here is no failure
    of the save: it only leaves memories out.
    """
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
        cosines = dict.fromkeys(find_sharing_words(store, whole_text(memory), place), 0.0)
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
    own = vectors.read_vectors(identity, [memory.id]).get(memory.id)
    found = vectors.nearest(identity, own[0].vector, MOST_READ, place) if own else []
    scale = scale_of(identity)
    return {match.memory_id: scale.to_english(match.score) for match in found}


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


@operation(SEARCH, route="GET /duplicates")
def duplicates(
    session: Session,
    *,
    limit: Annotated[
        int | None, about("maximum number of groups", short="n"), Meta(ge=1, le=1000)
    ] = None,
    progress: Callable[[int], None] = lambda done: None,
) -> list[DuplicateGroup]:
    """Return groups of memories that say the same, the surest first, and of each the one to keep
    first."""
    return list(compared(session, progress).duplicates[:limit])
