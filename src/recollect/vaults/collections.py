"""Shared collections: a search fans out over the personal vault and each of them, as over one.

Source: the `gnosis` recipe, "Fan-out": fetch up to twice as many where there are collections, drop
repeats by content hash (the personal copy stays), cut back. It happens where candidates are
recalled, so every recipe has it, and what follows sees one store.

A memory of a collection is known as `collection:id`.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import msgspec

from recollect.errors import NotFound, RecollectError, StoreError, UserError
from recollect.settings import CollectionSettings
from recollect.store.base import (
    Coverage,
    Dates,
    Facets,
    FeedbackLog,
    KeywordIndex,
    KeywordIndexName,
    KeywordMatches,
    Match,
    Memories,
    MemoryStamp,
    Store,
    TopicIndex,
    VectorIndex,
    VectorMatch,
    Vocabulary,
    Waiting,
    Writing,
)
from recollect.store.folders import Folders
from recollect.store.sqlite.store import SqliteStore
from recollect.types import Degraded, Filter, Memory, Place, Response, Span
from recollect.vaults.keys import other_keys
from recollect.vaults.known import HOME, PROJECT

if TYPE_CHECKING:
    from recollect.store.base import Vector

MARK = ":"
OVER_FETCH = 2
Candidate = TypeVar("Candidate", Match, VectorMatch)
Answer = TypeVar("Answer")
TIERS = ("core", "capture", "file")


class Collection(NamedTuple):
    """A shared vault of a name."""

    name: str
    store: Store

    def outward(self, id: str) -> str:
        return f"{self.name}{MARK}{id}"

    def inward(self, ids: Iterable[str]) -> list[str]:
        """The collection's own ids among these."""
        start = f"{self.name}{MARK}"
        return [id.removeprefix(start) for id in ids if id.startswith(start)]

    def narrowed(self, filter: Filter) -> Filter:
        if filter.among is None:
            return filter
        return msgspec.structs.replace(filter, among=tuple(self.inward(filter.among)))

    def shown(self, memory: Memory) -> Memory:
        return msgspec.structs.replace(memory, id=self.outward(memory.id))


class Fanned:
    """The personal store, with every collection behind it; satisfies `Store`.

    A collection that cannot be read takes no part; `away` says which, and why.
    """

    def __init__(self, personal: Store, collections: Sequence[Collection]) -> None:
        self.personal = personal
        self.collections = tuple(collections)
        self.away: dict[str, str] = {}
        self.memories: Memories = FannedMemories(self)
        self.keyword: KeywordIndex = FannedKeyword(self)
        self.vectors: VectorIndex = FannedVectors(self)
        self.topics: TopicIndex = FannedTopics(self)
        self.vocabulary: Vocabulary = FannedVocabulary(self)
        self.feedback: FeedbackLog = personal.feedback
        self.folders: Folders = personal.folders

    def told_apart(self, found: Response) -> Response:
        """Which collection a result is from, and which collections could not take part."""
        names = {one.name for one in self.collections}
        results = tuple(
            msgspec.structs.replace(one, vault=start)
            if (start := one.id.partition(MARK)[0]) in names and MARK in one.id
            else one
            for one in found
        )
        away = (Degraded(name, reason) for name, reason in self.away.items())
        return msgspec.structs.replace(found, results=results, degraded=(*found.degraded, *away))

    def asked(self, ask: Callable[[Collection], Answer]) -> list[tuple[Collection, Answer]]:
        """What each collection answers; one that cannot is left out and noted."""
        found = []
        for one in self.collections:
            try:
                found.append((one, ask(one)))
            except RecollectError as error:
                self.away[one.name] = str(error)
        return found

    def merged(
        self,
        own: Sequence[Candidate],
        others: Sequence[tuple[Collection, Sequence[Candidate]]],
        limit: int,
        newest: bool = False,
    ) -> list[Candidate]:
        """One list: larger scores first, then (for topics) the newer, then by id; of memories that
        say the same only the first, and the personal one before all."""
        stamps = self.personal.memories.stamps([one.memory_id for one in own])
        candidates = list(own)
        seen = {stamp.content_hash for stamp in stamps.values()}
        for collection, found in others:
            theirs = collection.store.memories.stamps([one.memory_id for one in found])
            for one in found:
                stamp = theirs.get(one.memory_id)
                if stamp is None or stamp.content_hash in seen:
                    continue
                seen.add(stamp.content_hash)
                id = collection.outward(one.memory_id)
                stamps[id] = stamp
                candidates.append(one._replace(memory_id=id))
        return sorted(candidates, key=lambda one: _order(one, stamps, newest=newest))[:limit]

    def writing(self) -> AbstractContextManager[Writing]:
        return self.personal.writing()

    def close(self) -> None:
        """The stores are closed by whoever opened them."""


def _order(
    one: Match | VectorMatch, stamps: Mapping[str, MemoryStamp], *, newest: bool
) -> tuple[float, int, str]:
    age = -stamps[one.memory_id].updated_at if newest and one.memory_id in stamps else 0
    return (-one.score, age, one.memory_id)


class FannedKeyword(KeywordIndex):
    def __init__(self, fanned: Fanned) -> None:
        self._all = fanned

    def match(
        self,
        index: KeywordIndexName,
        expression: str,
        weights: Mapping[str, float],
        limit: int,
        filter: Filter,
    ) -> KeywordMatches:
        more = OVER_FETCH * limit
        own = self._all.personal.keyword.match(index, expression, weights, more, filter)
        others = self._all.asked(
            lambda one: (
                one.store.keyword.match(
                    index, expression, weights, more, one.narrowed(filter)
                ).matches
            )
        )
        return KeywordMatches(self._all.merged(own.matches, others, limit), own.note)

    def tokens(self, text: str) -> list[str]:
        return self._all.personal.keyword.tokens(text)

    def snippets(
        self, index: KeywordIndexName, expression: str, memories: Sequence[Memory]
    ) -> dict[str, str]:
        return self._all.personal.keyword.snippets(index, expression, memories)


class FannedVectors(VectorIndex):
    def __init__(self, fanned: Fanned) -> None:
        self._all = fanned

    def nearest(
        self, identity: str, vector: Vector, limit: int, filter: Filter, dimensions: int = 0
    ) -> list[VectorMatch]:
        more = OVER_FETCH * limit
        own = self._all.personal.vectors.nearest(identity, vector, more, filter, dimensions)
        others = self._all.asked(
            lambda one: one.store.vectors.nearest(
                identity, vector, more, one.narrowed(filter), dimensions
            )
        )
        return self._all.merged(own, others, limit)

    def similarities(
        self, identity: str, vector: Vector, ids: Sequence[str], dimensions: int = 0
    ) -> dict[str, float]:
        found = dict(self._all.personal.vectors.similarities(identity, vector, ids, dimensions))
        for one, near in self._all.asked(
            lambda one: one.store.vectors.similarities(
                identity, vector, one.inward(ids), dimensions
            )
        ):
            found |= {one.outward(id): cosine for id, cosine in near.items()}
        return found

    def between(self, identity: str, ids: Sequence[str]) -> dict[tuple[str, str], float]:
        """Of two memories of different vaults nothing is known."""
        found = dict(self._all.personal.vectors.between(identity, ids))
        for one, near in self._all.asked(
            lambda one: one.store.vectors.between(identity, one.inward(ids))
        ):
            found |= {(one.outward(a), one.outward(b)): cosine for (a, b), cosine in near.items()}
        return found

    def coverage(self, identity: str) -> Coverage:
        every = [self._all.personal.vectors.coverage(identity)]
        every += [
            told for _, told in self._all.asked(lambda one: one.store.vectors.coverage(identity))
        ]
        return Coverage(sum(one.embedded for one in every), sum(one.memories for one in every))

    def put(
        self,
        identity: str,
        dimensions: int,
        vectors: Iterable[tuple[int, Vector]],
        texts: Mapping[int, str] | None = None,
        spans: Sequence[Span] | None = None,
    ) -> None:
        self._all.personal.vectors.put(identity, dimensions, vectors, texts, spans)

    def waiting(self, identity: str, limit: int) -> list[Waiting]:
        return self._all.personal.vectors.waiting(identity, limit)

    def adopt(self, identity: str, dimensions: int) -> None:
        self._all.personal.vectors.adopt(identity, dimensions)

    def remove(self, identity: str) -> int:
        return self._all.personal.vectors.remove(identity)

    def keep_only(self, identity: str) -> int:
        return self._all.personal.vectors.keep_only(identity)


class FannedTopics(TopicIndex):
    def __init__(self, fanned: Fanned) -> None:
        self._all = fanned

    def carrying(self, words: Sequence[str], limit: int, filter: Filter) -> list[Match]:
        more = OVER_FETCH * limit
        own = self._all.personal.topics.carrying(words, more, filter)
        others = self._all.asked(
            lambda one: one.store.topics.carrying(words, more, one.narrowed(filter))
        )
        return self._all.merged(own, others, limit, newest=True)


class FannedVocabulary(Vocabulary):
    """The most that any of them counts: copies of what one has already add nothing."""

    def __init__(self, fanned: Fanned) -> None:
        self._all = fanned

    def documents(self) -> int:
        others = self._all.asked(lambda one: one.store.vocabulary.documents())
        return max(self._all.personal.vocabulary.documents(), *(n for _, n in others), 0)

    def frequencies(self, tokens: Iterable[str]) -> dict[str, int]:
        words = list(tokens)
        found = dict(self._all.personal.vocabulary.frequencies(words))
        for _, counts in self._all.asked(lambda one: one.store.vocabulary.frequencies(words)):
            for word, count in counts.items():
                found[word] = max(found.get(word, 0), count)
        return found

    def similar(self, words: Sequence[str]) -> dict[str, list[str]]:
        return self._all.personal.vocabulary.similar(words)


class FannedMemories(Memories):
    def __init__(self, fanned: Fanned) -> None:
        self._all = fanned

    def get(self, ids: Sequence[str]) -> dict[str, Memory]:
        found = dict(self._all.personal.memories.get(ids))
        for one, held in self._all.asked(lambda one: one.store.memories.get(one.inward(ids))):
            found |= {one.outward(id): one.shown(memory) for id, memory in held.items()}
        return found

    def stamps(self, ids: Sequence[str]) -> dict[str, MemoryStamp]:
        found = dict(self._all.personal.memories.stamps(ids))
        for one, held in self._all.asked(lambda one: one.store.memories.stamps(one.inward(ids))):
            found |= {one.outward(id): stamp for id, stamp in held.items()}
        return found

    def ids(self) -> list[str]:
        return self._all.personal.memories.ids()

    def browse(self, filter: Filter, limit: int, after: Place | None = None) -> list[Memory]:
        own = self._all.personal.memories.browse(filter, limit, after)
        others = self._all.asked(
            lambda one: one.store.memories.browse(one.narrowed(filter), limit, after)
        )
        return self._once(own, others, _browsing)[:limit]

    def newest(self, filter: Filter, limit: int) -> list[Memory]:
        own = self._all.personal.memories.newest(filter, limit)
        others = self._all.asked(lambda one: one.store.memories.newest(one.narrowed(filter), limit))
        return self._once(own, others, _newest)[:limit]

    def _once(
        self,
        own: Sequence[Memory],
        others: Sequence[tuple[Collection, Sequence[Memory]]],
        order: Callable[[Memory], tuple[object, ...]],
    ) -> list[Memory]:
        stamps = self._all.personal.memories.stamps([one.id for one in own])
        seen = {stamp.content_hash for stamp in stamps.values()}
        found = list(own)
        for collection, memories in others:
            theirs = collection.store.memories.stamps([one.id for one in memories])
            for memory in memories:
                if memory.id in theirs and theirs[memory.id].content_hash not in seen:
                    seen.add(theirs[memory.id].content_hash)
                    found.append(collection.shown(memory))
        return sorted(found, key=order)

    def expiring(
        self, filter: Filter, limit: int, *, until: datetime, since: datetime | None = None
    ) -> list[Memory]:
        return self._all.personal.memories.expiring(filter, limit, until=until, since=since)

    def facets(self, filter: Filter, most: int, now: datetime) -> Facets:
        every = [self._all.personal.memories.facets(filter, most, now)]
        every += [
            told
            for _, told in self._all.asked(
                lambda one: one.store.memories.facets(one.narrowed(filter), most, now)
            )
        ]
        return Facets(*(_summed(counts) for counts in zip(*every, strict=True)))

    def dates(self, filter: Filter) -> Dates:
        return self._all.personal.memories.dates(filter)


def _browsing(memory: Memory) -> tuple[int, float, str]:
    return (TIERS.index(memory.tier), -memory.updated_at.timestamp(), memory.id)


def _newest(memory: Memory) -> tuple[float, str]:
    return (-memory.updated_at.timestamp(), memory.id)


def _summed(counts: Sequence[Mapping[str, int]]) -> dict[str, int]:
    whole: Counter[str] = Counter()
    for one in counts:
        whole.update(one)
    return dict(whole.most_common())


class Collections:
    """The collections that the settings name, opened when first asked for."""

    def __init__(
        self, told: Sequence[CollectionSettings], home: Path, environment: Mapping[str, str]
    ) -> None:
        self._paths = {one.name: home / Path(one.path).expanduser() for one in told}
        self._keys = {one.name: other_keys(one.passphrase_env, environment) for one in told}
        self._stores: dict[str, SqliteStore] = {}
        self._guard = threading.Lock()
        if len(self._paths) < len(told):
            names = [one.name for one in told]
            twice = next(name for name in names if names.count(name) > 1)
            raise UserError(f"Two collections are named {twice!r}; give one another name.")
        if taken := sorted({HOME, PROJECT} & self._paths.keys()):
            raise UserError(
                f"{taken[0]!r} is the name of a vault, not of a collection; choose another."
            )

    def names(self) -> list[str]:
        return list(self._paths)

    def fanned(self, personal: Store, names: Sequence[str]) -> Fanned:
        """The personal store with the collections of these names behind it."""
        opened, away = [], {}
        for name in names:
            try:
                opened.append(Collection(name, self.store(name)))
            except RecollectError as error:
                # By its name, as for other vaults.
                away[name] = str(error).replace(str(self._paths[name]), name)
        made = Fanned(personal, opened)
        made.away |= away
        return made

    def store(self, name: str, *, make: bool = False) -> SqliteStore:
        """A collection's vault; one that is not there is made only where something is published."""
        if name not in self._paths:
            known = ", ".join(self._paths) or "none; [[collections]] in the settings names them"
            raise NotFound(f"There is no collection {name!r}; there are: {known}.")
        with self._guard:
            if name not in self._stores:
                if not make and not self._paths[name].is_file():
                    raise StoreError(f"The collection {self._paths[name]} is not there.")
                self._stores[name] = SqliteStore(self._paths[name], keys=self._keys[name])
            return self._stores[name]

    def close(self) -> None:
        for store in self._stores.values():
            store.close()
