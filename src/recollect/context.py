"""The context of one search, which every channel and stage receives."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from msgspec import structs

from recollect.deadline import NO_DEADLINE, Deadline
from recollect.errors import ProviderError
from recollect.models.base import Tokenwise
from recollect.query.exact import MemoryText
from recollect.query.likeness import on_english_scale
from recollect.query.understanding import Understanding
from recollect.types import Degraded, Filter, Memory, Passage, Ranking, Reach, Search, Span, any_of
from recollect.verdicts import opinions

if TYPE_CHECKING:
    from recollect.models.base import Embedder, Matrix, Reranker
    from recollect.models.vectors import QueryTokens
    from recollect.present.snippet import Answering
    from recollect.query.exact import MemoryText
    from recollect.query.fields import Exclusion
    from recollect.query.likeness import Likeness
    from recollect.store.base import Store, Vector
    from recollect.verdicts import Opinion

# Roles of channels, whatever the recipe calls them; one channel at most has each.
ChannelRole = Literal["vector", "subwords", "details"]


_logged: set[tuple[str, str]] = set()  # reasons that are in the log already


class Models(Protocol):
    """The models of a search; each method raises ProviderError if the model is switched off."""

    budget_ms: int

    def embedder(self) -> Embedder: ...

    def reranker(self) -> Reranker: ...


class WordByWord(NamedTuple):
    """A comparison of a passage with the query: the passage's span, and the cosine of each token of
    the query with each of the passage."""

    span: Span
    cosines: Matrix


class SearchContext:
    """One search: its request, the store and models, caches, and what the response reports.

    Channels and stages read it. What a stage finds out about a hit travels on the ranking.

    roles: the names of the recipe's channels that search by vectors, subwords and details.
    inlined: how many results may have their whole text.
    before: the query asked for the past, in words that were removed from it.
    languages: read times in other languages than English.
    smooth: smooth the rarity of words in small vaults.
    excluded: the exclusions in the query.
    asked: the query with its exclusions.
    likeness: how feedback on other queries counts; None without feedback.
    deadline: later work is skipped; the current channel stops at `channel_deadline`.
    """

    def __init__(
        self,
        *,
        recipe: str,
        search: Search,
        limit: int,
        now: datetime,
        store: Store,
        models: Models,
        roles: Mapping[ChannelRole, str] = MappingProxyType({}),
        inlined: int = 0,
        before: bool = False,
        languages: bool = False,
        smooth: bool = False,
        excluded: tuple[Exclusion, ...] = (),
        asked: str = "",
        likeness: Likeness | None = None,
        deadline: Deadline = NO_DEADLINE,
    ) -> None:
        self.recipe = recipe
        self.search = search
        self.limit = limit
        self.now = now
        self.store = store
        self.models = models
        self.understanding = Understanding(
            search, limit, now, store, before=before, languages=languages, smooth=smooth
        )
        self.inlined = inlined
        self.passages: dict[str, Passage] = {}
        self.excluded = excluded
        self._asked_words = asked or search.query
        self._likeness = likeness
        self.deadline = self.channel_deadline = deadline
        self.snippets: dict[str, str] = {}
        self.channels: dict[str, Ranking] = {}
        self.fused = Ranking()
        self.degraded: list[Degraded] = []
        self.notes: list[str] = []
        self.timings: dict[str, float] = {}
        self.waited_ms = 0.0
        self._roles = roles
        self._memories: dict[str, Memory] = {}
        self._texts: dict[str, MemoryText] = {}
        self._exact_terms: dict[str, list[str]] = {}
        self._looked_up: dict[str, float | None] = {}
        self._asked = False
        self._ahead: threading.Thread | None = None
        self._vector: Vector | None = None
        self._embedded: tuple[Exception | str | None, Vector | None, float] | None = None
        self.query_tokens: QueryTokens | None = None
        self.compared: dict[str, WordByWord] = {}
        self.answering: Mapping[str, Answering] = {}

    # The query's vector

    def embed_ahead(self) -> None:
        """Embed the query in a thread, parallel to the database. Without a model, fail at once."""
        try:
            _ = self.embedder
        except Exception:  # `query_vector` reports it, or raises it
            self._embed()
            return
        self._ahead = threading.Thread(target=self._embed, daemon=True)
        self._ahead.start()

    @property
    def query_vector(self) -> Vector | None:
        """The query's vector, made once; None, with a reason in `degraded`, if the model fails."""
        if not self._asked:
            self._asked = True
            start = time.perf_counter()
            self._await_vector()
            self.waited_ms = (time.perf_counter() - start) * 1000
            embedded = self._embedded  # read once: a late thread may set it meanwhile
            if embedded is None:
                self.lose_vectors(self.deadline.reason)
                return None
            failure, self._vector, self.timings["embed"] = embedded
            if isinstance(failure, Exception):
                raise failure
            if failure is not None:
                self.lose_vectors(failure)
        return self._vector

    def _await_vector(self) -> None:
        """Wait for the query's vector, at most until the deadline."""
        if self._ahead is None and self._embedded is None:
            if self.deadline.milliseconds is None:
                self._embed()
            else:
                self.embed_ahead()
        if self._ahead is not None:
            self._ahead.join(self.deadline.within(None))

    def _embed(self) -> None:
        start = time.perf_counter()
        failure: Exception | str | None = None
        vector = None
        try:
            if isinstance(self.embedder, Tokenwise):
                vector, self.query_tokens = self.embedder.query(self.search.query)
            else:
                vector = self.embedder.queries([self.search.query])[0]
        except ProviderError as error:  # as text: its frames would keep the search in memory
            failure = str(error)
        except Exception as error:  # maybe in a thread: `query_vector` raises it
            failure = error
        self._embedded = (failure, vector, (time.perf_counter() - start) * 1000)

    def lose_vectors(self, reason: str) -> None:
        """Continue this search without vectors."""
        self._vector = None
        self.degrade(self._roles.get("vector", "vector"), reason)

    @cached_property
    def embedder(self) -> Embedder:
        """The model of the vault's vectors, the same for the whole search even if it is switched
        meanwhile. Raises ProviderError without one."""
        return self.models.embedder()

    # Results of the channels

    @property
    def vectors_answered(self) -> bool:
        """Whether the vector channel took part."""
        return self._roles.get("vector") in self.channels

    def by_vectors(self) -> Ranking:
        """Return the results of the vector channel; empty if it took no part."""
        return self.channels.get(self._roles.get("vector", ""), Ranking())

    def is_vector_channel(self, channel: str) -> bool:
        return channel == self._roles.get("vector")

    def cosine(self, id: str) -> float | None:
        """Return the cosine of a memory that the vector channel found. Call it only when all
        channels have run."""
        return self._cosines.get(id)

    @cached_property
    def _cosines(self) -> dict[str, float]:
        return scores_of(self.by_vectors())

    def cosines(self, ids: Iterable[str]) -> dict[str, float]:
        """Return the cosine of each of these memories that has a vector, whichever channel found
        it; empty if the vector channel took no part."""
        if not self.vectors_answered or self.query_vector is None:
            return {}
        known = scores_of(self.by_vectors())
        others = [id for id in ids if id not in known]
        new = [id for id in others if id not in self._looked_up]
        if new:
            identity = self.embedder.identity
            found = self.store.vectors.similarities(identity, self.query_vector, new)
            self._looked_up |= dict.fromkeys(new) | found
        looked_up = ((id, self._looked_up[id]) for id in others)
        return known | {id: cosine for id, cosine in looked_up if cosine is not None}

    def compare(self, ids: Sequence[str]) -> None:
        """Compare the nearest passage of each of these memories with the query, by token
        vectors."""
        vector, tokens = self.query_vector, self.query_tokens
        if vector is None or tokens is None or not self.vectors_answered:
            return
        embedder = self.embedder
        assert isinstance(embedder, Tokenwise)
        found = self.store.vectors.nearest_passages(embedder.identity, vector, ids)
        cosines = embedder.similarities(tokens, [one.tokens for one in found.values()])
        self.compared = {
            id: WordByWord(passage.span, each)
            for (id, passage), each in zip(found.items(), cosines, strict=True)
            if each.size
        }

    def cosines_between(self, ids: Sequence[str]) -> dict[tuple[str, str], float]:
        """Return the cosine of each pair of these memories with vectors, in this order, on the
        scale of the English model."""
        if not self.vectors_answered:
            return {}
        identity = self.embedder.identity
        return on_english_scale(identity, self.store.vectors.between(identity, ids))

    def scores(self, channel: str) -> dict[str, float]:
        """Return the score of each memory in a channel; empty if it did not run."""
        return scores_of(self.channels.get(channel, Ranking()))

    def ranks(self, channel: str) -> dict[str, int]:
        """Return the rank of each memory in a channel, from 1."""
        hits = self.channels.get(channel, Ranking())
        return {hit.memory_id: place for place, hit in enumerate(hits, start=1)}

    @cached_property
    def opinions(self) -> dict[str, Opinion]:
        """The feedback on memories for this query and similar ones. Queries are compared by words
        without a model whose cosines are known."""
        if self._likeness is None:
            return {}
        identity = vector = None
        if "vector" in self._roles and not self.understanding.lists:
            vector = self.query_vector
        if vector is not None:
            identity = self.embedder.identity
        if identity is None or not self._likeness.knows(identity):
            identity = vector = None
        return opinions(self._asked_words, self.store.feedback, self._likeness, identity, vector)

    # Filters and memories

    def filter(
        self, *, kind: str | None = None, without_kinds: tuple[str, ...] = ()
    ) -> Filter | None:
        """Return the search's filter with further conditions; None if nothing can pass both."""
        asked = self.search.filter
        wanted = [one for one in any_of(asked.kind) or (kind,) if kind in (None, one)]
        if asked.kind is not None:
            wanted = [one for one in wanted if one not in without_kinds]
        if not wanted:
            return None
        return structs.replace(
            asked,
            kind=asked.kind and tuple(wanted) if kind is None else kind,
            without_kinds=tuple(dict.fromkeys((*asked.without_kinds, *without_kinds))),
        )

    def load(self, ids: Iterable[str]) -> None:
        """Read these memories in one query, before stages use them."""
        missing = [id for id in ids if id not in self._memories]
        if missing:
            self._memories.update(self.store.memories.get(missing))

    def memory(self, id: str) -> Memory:
        return self._memories[id]

    def has(self, id: str) -> bool:
        """Return whether the memory was still live when it was read."""
        return id in self._memories

    def text(self, id: str) -> MemoryText:
        """Return a memory's words, tokenized once."""
        if id not in self._texts:
            self._texts[id] = MemoryText(
                self._memories[id],
                self.store.keyword.tokens,
                has_subwords=id in self._with_subwords,
                details=self._details.get(id, ""),
            )
        return self._texts[id]

    def exact_terms(self, id: str) -> list[str]:
        """Return the query's exact terms that a memory has, computed once."""
        if id not in self._exact_terms:
            terms = self.understanding.exact_terms
            self._exact_terms[id] = [term for term in terms if self.text(id).holds(term)]
        return self._exact_terms[id]

    @cached_property
    def _details(self) -> dict[str, str]:
        """The passage that the details channel found in each memory's details. Reading all details
        would be slow, and a word far from the others means little."""
        hits = self.channels.get(self._roles.get("details", ""), Ranking())
        return {hit.memory_id: hit.findings.passage for hit in hits}

    @cached_property
    def _with_subwords(self) -> frozenset[str]:
        """The memories with subwords of the query. Reading the subwords of all would take as long
        as the rest of a search."""
        return frozenset(self.channels.get(self._roles.get("subwords", ""), Ranking()).ids)

    # Reports for the response

    def degrade(self, channel: str, reason: str, reach: Reach | None = None) -> None:
        """Report that a part could not do its work: in the response, and once in the log."""
        entry = Degraded(channel, reason, reach)
        if entry not in self.degraded:
            self.degraded.append(entry)
            logger = logging.getLogger("recollect")
            # Without a handler it would be printed.
            if (channel, reason) not in _logged and logger.hasHandlers():
                _logged.add((channel, reason))
                logger.warning("%s: %s", channel, reason)

    def note(self, sentence: str) -> None:
        if sentence not in self.notes:
            self.notes.append(sentence)

    @contextmanager
    def timer(self, part: str) -> Iterator[None]:
        """Add the duration of the block to this part of the response's `timings_ms`."""
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = (time.perf_counter() - start) * 1000
            self.timings[part] = self.timings.get(part, 0.0) + spent


def scores_of(ranking: Ranking) -> dict[str, float]:
    """Return the score of each memory of a ranking."""
    return {hit.memory_id: hit.why.value for hit in ranking.hits}


def passages_of(ranking: Ranking) -> dict[str, str]:
    """Return the passages in which a channel found long memories, in words."""
    return {hit.memory_id: hit.why.how for hit in ranking if hit.why.how}
