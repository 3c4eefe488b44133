"""Comparing memories: duplicates, contradictions, and memories similar to one just saved.

Candidate pairs come from an index of rare words and from buckets of vectors, not from comparing all
with all: 40 s on one core for 100,000 memories (bench_duplicates.py). A server therefore caches the
result, and compares again only after the vault has changed and RESTS times the duration has passed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cache
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
# Cosines of the bundled embedder, measured on written pairs by benchmarks/duplicates.py.
SAME_MEANING = 0.9
CERTAIN_MEANING = 0.97
IN_TWO_PROJECTS = 0.5  # sureness of a duplicate with the same words in two projects
CONTRADICTING = 0.67  # the smallest cosine for which `seems_to_replace` can say yes
RESTS = 20  # wait this many times the duration of the last comparison
LONGEST = 20_000  # characters compared of a text: more adds nothing
MOST = 3  # similar memories returned after a save


class DuplicateGroup(NamedTuple):
    """Duplicates, the one to keep first. `sure`: 0…1. `about`: the paths, for duplicate files."""

    reason: Sameness
    sure: float
    ids: tuple[str, ...]
    about: str = ""


class Contradiction(NamedTuple):
    """Two memories of which the newer seems to replace the older."""

    older: str
    newer: str


class Comparison(NamedTuple):
    """The duplicates and contradictions of a vault. `state`: the store's `changes` before it, `at`:
    when it ended, `took`: its duration in seconds."""

    duplicates: tuple[DuplicateGroup, ...]
    contradictions: tuple[Contradiction, ...]
    state: int
    at: float
    took: float


_cache: WeakKeyDictionary[VaultStore, Comparison] = WeakKeyDictionary()
_lock = threading.Lock()


def compare_all(
    session: Session, progress: Callable[[int], None] = lambda done: None
) -> Comparison:
    """Compare all memories, or return the cached result; see the module docstring."""
    with _lock:
        last, state, start = _cache.get(session.store), session.store.changes(), time.monotonic()
        if last and session.lifetime is Lifetime.SERVER:
            rested = start - last.at > RESTS * last.took
            if last.state == state or not rested:
                return last
        groups, pairs = _compare(session, progress)
        end = time.monotonic()
        found = _cache[session.store] = Comparison(groups, pairs, state, end, end - start)
        return found


def _compare(
    session: Session, progress: Callable[[int], None]
) -> tuple[tuple[DuplicateGroup, ...], tuple[Contradiction, ...]]:
    keys, memories = _read_memories(session, progress)
    session.step("compare by meaning")
    cosines = _near_cosines(session, keys, memories)
    session.step("compare by words")
    groups = _Groups(memories)
    for pair, reason, sure in _duplicate_pairs(session, memories, cosines):
        groups.join(*pair, reason, sure)
    found = [*groups, *_duplicate_files(session)]
    found.sort(key=lambda group: (-group.sure, group.ids))
    session.step("look for contradictions")
    grouped = {id: number for number, group in enumerate(found) for id in group.ids}
    contradictions = tuple(
        pair
        for pair in _contradictions(session, memories, cosines)
        if grouped.get(pair.older, -1) != grouped.get(pair.newer, -2)
    )
    return tuple(found), contradictions


def _read_memories(
    session: Session, progress: Callable[[int], None]
) -> tuple[list[int], list[Memory]]:
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
    """Return whether to compare a memory: not if it is part of a file, archived, superseded or no
    longer valid."""
    gone = memory.archived_at or memory.superseded_by or validity(memory, now)
    return not gone and memory.tier != "file"


def can_embed(identity: str, memory: Memory) -> bool:
    """Return whether the model knows the script of a memory: to the bundled English model all Thai
    texts look alike."""
    english = identity.startswith("builtin:") and scale_of(identity) is SAME_SCALE
    return not english or has_plain_letters(beginning(memory))


def _near_cosines(
    session: Session, keys: Sequence[int], memories: Sequence[Memory]
) -> dict[tuple[int, int], float]:
    """Return the cosines of near pairs, by their positions in `memories`; empty without a model."""
    if not session.models.embeds() or len(keys) < 2:
        return {}
    import numpy as np  # noqa: PLC0415  start-up time

    from recollect.query.vector_pairs import near_pairs  # noqa: PLC0415  numpy

    identity = session.models.embedder().identity
    scale = scale_of(identity)
    found, vectors = session.store.vectors.whole(identity)
    positions = {key: position for position, key in enumerate(keys)}
    rows = [row for row, key in enumerate(found) if key in positions]
    of = [positions[found[row]] for row in rows]
    least = scale.to_own(CONTRADICTING)
    pairs = near_pairs(vectors[np.array(rows, np.intp)], least) if rows else {}
    return {
        (min(of[one], of[two]), max(of[one], of[two])): scale.to_english(cosine)
        for (one, two), cosine in pairs.items()
        if can_embed(identity, memories[of[one]])
    }


def _duplicate_pairs(
    session: Session, memories: Sequence[Memory], cosines: dict[tuple[int, int], float]
) -> Iterator[tuple[tuple[int, int], Sameness, float]]:
    """Yield pairs of one project and space that say the same, surest first; then pairs with the
    same words in two projects, which may be intended."""
    tokens = session.store.keyword.tokens

    @cache
    def wording(position: int) -> Wording:
        return wording_of(memories[position], tokens)

    first: dict[tuple[str, ...], int] = {}
    anywhere: dict[tuple[str, str], int] = {}
    distinct, texts, apart = [], [], []
    for position, memory in enumerate(memories):
        plain = plain_words(memory)
        known = first.setdefault((*_group(memory), plain), position)
        if known != position:
            yield (known, position), "same words", 1.0
            continue
        distinct.append(position)
        texts.append(frozenset(plain.split()))
        other = anywhere.setdefault((memory.space, plain), position)
        if other != position:
            apart.append((other, position))
    for one, two in nearly_equal(texts, ALIKE - 0.1):  # stems are more alike than words
        pair = distinct[one], distinct[two]
        together = _group(memories[pair[0]]) == _group(memories[pair[1]])
        if together and wording(pair[0]).says(wording(pair[1]), ALIKE):
            shared = len(texts[one] & texts[two]) / len(texts[one] | texts[two])
            yield pair, "nearly the same words", round(0.9 + 0.09 * shared, 2)
    for (one, two), cosine in sorted(cosines.items(), key=lambda pair: -pair[1]):
        if cosine < SAME_MEANING:
            break
        if _group(memories[one]) == _group(memories[two]) and same_facts(
            whole_text(memories[one]), whole_text(memories[two])
        ):
            yield (one, two), "same meaning", sureness(cosine)
    for pair in apart:
        yield pair, "same words", IN_TWO_PROJECTS


def wording_of(memory: Memory, tokens: Tokens) -> Wording:
    """Return the stems of a memory's title and text."""
    return Wording.of(tokens(memory.title), tokens(memory.text[:LONGEST]))


def sureness(cosine: float) -> float:
    """Return how sure it is that two texts with this cosine and the same facts mean the same: 0.6
    to 0.9, the share of such pairs in benchmarks/duplicates.py."""
    share = (cosine - SAME_MEANING) / (CERTAIN_MEANING - SAME_MEANING)
    return round(0.6 + 0.3 * min(share, 1.0), 2)


def _group(memory: Memory) -> tuple[str, str]:
    return memory.project, memory.space


def whole_text(memory: Memory) -> str:
    """Return the title and the text, cut to LONGEST."""
    return f"{memory.title}. {memory.text[:LONGEST]}" if memory.title else memory.text[:LONGEST]


def plain_words(memory: Memory) -> str:
    """Return the words in lower case, without the punctuation around them."""
    return " ".join(word.strip(".,;:!?\"'()").lower() for word in whole_text(memory).split())


class _Groups:
    """Groups of duplicates. Every member forms a pair with the group's first memory, so that a
    chain of small differences does not become a group."""

    def __init__(self, memories: Sequence[Memory]) -> None:
        self._memories = memories
        self._of: dict[int, int] = {}
        self._groups: dict[int, tuple[Sameness, float, list[int]]] = {}

    def join(self, one: int, two: int, reason: Sameness, sure: float) -> None:
        """Add a pair. Pairs come surest first, so a group is as sure as its last pair."""
        if two in self._of:
            one, two = two, one
        if two in self._of or self._of.get(one, one) != one:
            return
        _, _, members = self._groups.get(one, (reason, sure, [one]))
        self._groups[one] = (reason, sure, [*members, two])
        self._of[one] = self._of[two] = one

    def __iter__(self) -> Iterator[DuplicateGroup]:
        """Yield the groups; the memory to keep comes first: pinned, the longest, the newest."""

        def rank(memory: Memory) -> tuple[object, ...]:
            length = len(memory.text) + len(memory.details)
            return memory.tier != "core", -length, -memory.updated_at.timestamp(), memory.id

        for reason, sure, positions in self._groups.values():
            members = sorted((self._memories[position] for position in positions), key=rank)
            yield DuplicateGroup(reason, sure, tuple(memory.id for memory in members))


def _duplicate_files(session: Session) -> Iterator[DuplicateGroup]:
    """Yield groups of files with the same content, each file by its first chunk."""
    for copies in session.store.folders.copies():
        ids = tuple(copy.memory_id for copy in copies)
        about = ", ".join(copy.path for copy in copies)
        yield DuplicateGroup("same file", 1.0, ids, about)


def _contradictions(
    session: Session, memories: Sequence[Memory], cosines: dict[tuple[int, int], float]
) -> Iterator[Contradiction]:
    """Yield the pairs of which the newer seems to replace the older."""
    tokens = session.store.keyword.tokens

    @cache
    def statement(position: int) -> Statement:
        return Statement(memories[position], tokens)

    for pair, cosine in sorted(cosines.items()):
        if not all(is_statement(memories[position]) for position in pair):
            continue
        older, newer = sorted(pair, key=lambda each: (memories[each].updated_at, each))
        if comparable(memories[older], memories[newer]) and seems_to_replace(
            statement(older), statement(newer), cosine
        ):
            yield Contradiction(memories[older].id, memories[newer].id)


@operation(WRITE, retry=True)
def similar(session: Session, memory: Memory, *, wait: bool = False) -> list[SimilarMemory]:
    """Return memories of the same project and space that are similar to a saved one: first those it
    seems to replace, then duplicates, then those about the same thing.

    Candidates come from the vectors, or from the keyword index while the memory has no vector yet;
    `wait` waits for the vector. Empty for callers who may not read. A failure does not fail the
    save: it returns fewer memories.
    """
    found: list[SimilarMemory] = []
    if session.caller.may(SEARCH):
        with suppress(StoreError, ProviderError):
            if wait:
                session.background.settle(NO_DEADLINE)
            found = _find_similar(session, memory)
    found.sort(key=lambda each: (each.why == ABOUT, each.why != REPLACES))
    return found[:MOST]


def _find_similar(session: Session, memory: Memory) -> list[SimilarMemory]:
    store, now = session.store, session.clock()
    group = Filter(project=memory.project, space=memory.space)
    cosines = _nearest_cosines(session, memory, group)
    if not cosines:
        cosines = dict.fromkeys(find_sharing_words(store, whole_text(memory), group), 0.0)
    others = store.memories.get([id for id in cosines if id != memory.id])
    saved = _SavedMemory(memory, store.keyword.tokens)
    ranked = sorted(others.values(), key=lambda each: order(cosines[each.id], each.id))
    reasons = (
        (other, saved.reason(other, cosines[other.id]))
        for other in ranked
        if is_compared(other, now)
    )
    return [SimilarMemory(other, why) for other, why in reasons if why is not None]


def _nearest_cosines(session: Session, memory: Memory, group: Filter) -> dict[str, float]:
    """Return the cosines of the nearest memories; empty if the memory has no vector yet, or the
    model does not know its script."""
    if not session.models.embeds():
        return {}
    vectors, identity = session.store.vectors, session.models.embedder().identity
    if not can_embed(identity, memory):
        return {}
    own = vectors.read_vectors(identity, [memory.id]).get(memory.id)
    found = vectors.nearest(identity, own[0].vector, MOST_READ, group) if own else []
    scale = scale_of(identity)
    return {match.memory_id: scale.to_english(match.score) for match in found}


class _SavedMemory:
    """A saved memory, tokenized once, to compare others with."""

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
        memory = self._memory
        return (
            other.updated_at <= memory.updated_at
            and is_statement(other)
            and is_statement(memory)
            and _group(other) == _group(memory)
            and seems_to_replace(Statement(other, self._tokens), self._statement, cosine)
        )


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
    return list(compare_all(session, progress).duplicates[:limit])
