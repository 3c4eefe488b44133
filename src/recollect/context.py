"""Where a search stands: what was asked, what it may use, what has been found so far.

Every channel and stage receives one `At`. Rankings are passed along and never changed; `At` only
gathers what the response must tell beside them: degraded parts, notes, times.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Protocol

from recollect.errors import ProviderError
from recollect.models.base import Embedder, Reranker
from recollect.query.exact import MOST_THINGS, RARE, RARE_SHARE, exact_things, folded
from recollect.query.intent import intent
from recollect.query.subwords import subwords
from recollect.query.terms import keywords, lowered
from recollect.query.time.periods import periods, without
from recollect.query.time.values import Period
from recollect.store.base import KeywordIndexName, Store
from recollect.types import Degraded, FilePlace, Filter, Intent, Memory, Ranking, Search

if TYPE_CHECKING:
    from recollect.store.base import Vector


class Models(Protocol):
    """The models a search may ask; each raises ProviderError when it is switched off or absent."""

    budget_ms: int

    def embedder(self) -> Embedder: ...

    def reranker(self) -> Reranker: ...


class Reading:
    """A memory's words, read when they are needed: as stems, and as a text without case and
    accents."""

    def __init__(
        self, memory: Memory, tokens: Callable[[str], list[str]], *, has_parts: bool
    ) -> None:
        self._memory = memory
        self._tokens = tokens
        self._has_parts = has_parts

    @cached_property
    def body(self) -> tuple[str, ...]:
        """The stems of text and context, in order."""
        return tuple(self._tokens(f"{self._memory.text}\n{self._memory.context}"))

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """What identifiers and unspaced scripts hold beside words, where the query asks for it."""
        return tuple(subwords(self._text)) if self._has_parts else ()

    @cached_property
    def stems(self) -> tuple[str, ...]:
        """The stems of title, text, context and tags, in order, and those of the parts."""
        rest = " ".join((*self._memory.tags, *self.parts))
        return (*self._tokens(self._memory.title), *self.body, *self._tokens(rest))

    @cached_property
    def stem_set(self) -> frozenset[str]:
        return frozenset(self.stems)

    @cached_property
    def folded(self) -> str:
        return folded(f"{self._text}\n{' '.join(self.parts)}")

    @cached_property
    def _text(self) -> str:
        memory = self._memory
        return "\n".join((memory.title, memory.text, memory.context, *memory.tags))


class SearchContext:
    """The context of one search."""

    def __init__(
        self,
        *,
        recipe: str,
        search: Search,
        limit: int,
        now: datetime,
        store: Store,
        models: Models,
    ) -> None:
        self.recipe = recipe
        self.search = search
        self.limit = limit
        self.now = now
        self.store = store
        self.models = models
        self.channels: dict[str, Ranking] = {}
        self.fused = Ranking()
        self.matches: dict[str, tuple[KeywordIndexName, str]] = {}
        self.inlined = 0
        self.snippets: dict[str, str] = {}
        self.verified: frozenset[str] = frozenset()
        self.opinions: dict[str, float] = {}
        self.unreached: frozenset[str] = frozenset()
        self.understood: tuple[Period, ...] = ()
        self.mended: dict[str, list[str]] = {}
        self.twins: dict[str, tuple[Memory, ...]] = {}
        self.newer: dict[str, tuple[Memory, ...]] = {}
        self.files: dict[str, FilePlace] = {}
        self.joined: dict[str, tuple[Memory, ...]] = {}
        self.degraded: list[Degraded] = []
        self.notes: list[str] = []
        self.timings: dict[str, float] = {}
        self._memories: dict[str, Memory] = {}
        self._readings: dict[str, Reading] = {}
        self._asked = False
        self._ahead: threading.Thread | None = None
        self._vector: Vector | None = None
        self._failure: Exception | None = None
        self.waited_ms = 0.0

    @cached_property
    def intent(self) -> Intent:
        return intent(self.search.query)

    def embed_ahead(self) -> None:
        """Begin to embed the query beside what the search does meanwhile: neither the model nor
        the database holds the other up."""
        self._ahead = threading.Thread(target=self._embed, daemon=True)
        self._ahead.start()

    @property
    def query_vector(self) -> Vector | None:
        """The query's vector, made once; None, and said in `degraded`, when no model answers."""
        if not self._asked:
            self._asked = True
            start = time.perf_counter()
            if self._ahead is None:
                self._embed()
            else:
                self._ahead.join()
            self.waited_ms = (time.perf_counter() - start) * 1000
            if isinstance(self._failure, ProviderError):
                self.lose_vectors(str(self._failure))
            elif self._failure is not None:
                raise self._failure
        return self._vector

    def _embed(self) -> None:
        with self.timed("embed"):
            try:
                self._vector = self.models.embedder().queries([self.search.query])[0]
            except Exception as error:  # perhaps in a thread: `query_vector` says it, or raises it
                self._failure = error

    def lose_vectors(self, reason: str) -> None:
        """From here on this search has no vectors."""
        self._vector = None
        self.degrade("vector", reason)

    def filter(
        self, *, kind: str | None = None, without_kinds: tuple[str, ...] = ()
    ) -> Filter | None:
        """The caller's filter, narrowed further; None when nothing can pass both."""
        asked = self.search.filter
        if kind is not None and asked.kind not in (None, kind):
            return None
        if asked.kind is not None and asked.kind in without_kinds:
            return None
        fields = {name: getattr(asked, name) for name in Filter.__struct_fields__}
        fields["kind"] = kind or asked.kind
        fields["without_kinds"] = tuple(dict.fromkeys((*asked.without_kinds, *without_kinds)))
        return Filter(**fields)

    def load(self, ids: Iterable[str]) -> None:
        """Read these memories in one go; a channel's hits are loaded before stages ask for them."""
        missing = [id for id in ids if id not in self._memories]
        if missing:
            self._memories.update(self.store.memories.get(missing))

    def memory(self, id: str) -> Memory:
        return self._memories[id]

    def reading(self, id: str) -> Reading:
        """A memory as words, for the stages that read texts; each is read once."""
        if id not in self._readings:
            self._readings[id] = Reading(
                self._memories[id], self.store.keyword.tokens, has_parts=id in self._with_parts
            )
        return self._readings[id]

    @cached_property
    def _with_parts(self) -> frozenset[str]:
        """The memories whose parts the query asks for: reading those of all takes as long as the
        rest of a search."""
        return frozenset(self.channels.get("subwords", Ranking()).ids)

    @cached_property
    def stems(self) -> tuple[str, ...]:
        """The query's keywords as the stemmed index knows them, in order."""
        return tuple(self.store.keyword.tokens(" ".join(keywords(self.search.query))))

    @cached_property
    def timeless(self) -> str:
        """The query without the words that name a time."""
        return without(self.search.query, self.periods) if self.periods else self.search.query

    @cached_property
    def exactly(self) -> list[str]:
        """What the query means literally: its exact things, and keywords that hardly any memory
        has."""
        things = exact_things(self.timeless)
        held = {word for thing in things for word in lowered(thing)}
        others = [word for word in dict.fromkeys(keywords(self.timeless)) if word not in held]
        counts = self.store.vocabulary.frequencies(others)
        few = min(RARE, RARE_SHARE * self.store.vocabulary.documents())
        rare = [word for word in others if 0 < counts.get(word, 0) <= few]
        return [*things, *rare][:MOST_THINGS]

    @cached_property
    def periods(self) -> tuple[Period, ...]:
        """The time that the query's words name, unless the caller does not want them read so."""
        return periods(self.search.query, self.now) if self.search.read_time is not False else ()

    def has(self, id: str) -> bool:
        """Whether the memory was still live when it was read."""
        return id in self._memories

    def cosine(self, id: str) -> float | None:
        """The cosine of a memory that came through the vector channel; for presenting results,
        when the channels no longer change."""
        return self._cosines.get(id)

    @cached_property
    def _cosines(self) -> dict[str, float]:
        return self.scores("vector")

    def cosines(self, ids: Iterable[str]) -> dict[str, float]:
        """The cosine of each of these memories that has a vector, whichever channel found it; empty
        when the vector channel took no part."""
        if "vector" not in self.channels or self.query_vector is None:
            return {}
        known = self.scores("vector")
        others = [id for id in ids if id not in known]
        if others:
            identity = self.models.embedder().identity
            known |= self.store.vectors.similarities(identity, self.query_vector, others)
        return known

    def cosines_between(self, ids: Sequence[str]) -> dict[tuple[str, str], float]:
        """The cosine of each two of these memories, in this order, that have a vector."""
        if "vector" not in self.channels:
            return {}
        return self.store.vectors.between(self.models.embedder().identity, ids)

    def scores(self, channel: str) -> dict[str, float]:
        """What a channel scored each of its memories with; empty for one that did not run."""
        return {hit.memory_id: hit.score for hit in self.channels.get(channel, Ranking())}

    def where(self, channel: str) -> dict[str, str]:
        """What a channel says of where it found a memory: the passage, for a long one."""
        hits = self.channels.get(channel, Ranking())
        return {hit.memory_id: hit.why.how for hit in hits if hit.why.how}

    def ranks(self, channel: str) -> dict[str, int]:
        """The place of each memory in a channel, counted from 1."""
        hits = self.channels.get(channel, Ranking())
        return {hit.memory_id: place for place, hit in enumerate(hits, start=1)}

    def degrade(self, channel: str, reason: str) -> None:
        """Say that a part could not do its work: in the response, and once in the log."""
        entry = Degraded(channel, reason)
        if entry not in self.degraded:
            self.degraded.append(entry)
            _warn_once(channel, reason)

    def note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)

    @contextmanager
    def timed(self, part: str) -> Iterator[None]:
        """Add the time of the block to the response's `timings_ms`, under this name."""
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = (time.perf_counter() - start) * 1000
            self.timings[part] = self.timings.get(part, 0.0) + spent


_logged: set[tuple[str, str]] = set()


def _warn_once(channel: str, reason: str) -> None:
    """To the logger `recollect`. Where nothing has imported logging, nobody listens, and a one-shot
    command need not spend its start-up time on it."""
    logging = sys.modules.get("logging")
    if logging is None or (channel, reason) in _logged:
        return
    _logged.add((channel, reason))
    logger = logging.getLogger("recollect")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    logger.warning("%s: %s", channel, reason)
