"""A search at any point of its way, for tests of one channel, fusion, signal or stage."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from suites.stores.samples import CHANGE

from recollect.context import SearchContext
from recollect.errors import ProviderError
from recollect.ingest.draft import complete_draft, make_draft
from recollect.models.base import Embedder, Reranker
from recollect.store.sqlite.store import SqliteStore
from recollect.types import Filter, Hit, Ranking, Search, combine, leaf, ranked

if TYPE_CHECKING:
    from numpy.typing import NDArray

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
IDENTITY = "toy:planned"
LONGEST_S = 60  # far beyond what any model here needs


class PlannedModels:
    """An embedder that gives every query one vector, and a reranker; either may be absent."""

    def __init__(
        self, asked: Sequence[float] | None, reranker: Reranker | None, budget_ms: int
    ) -> None:
        self.budget_ms = budget_ms
        self._asked = asked
        self._reranker = reranker

    def embedder(self) -> Embedder:
        if self._asked is None:
            raise ProviderError('embedding.provider is "none"', transient=False)
        return PlannedEmbedder(self._asked)

    def reranker(self) -> Reranker:
        if self._reranker is None:
            raise ProviderError('rerank.provider is "none"', transient=False)
        return self._reranker


class PlannedEmbedder:
    identity = IDENTITY
    local = True

    def __init__(self, asked: Sequence[float]) -> None:
        self._asked = asked

    def warm(self) -> bool:
        return True

    def queries(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.array([self._asked] * len(texts), np.float32)

    documents = queries


class PlannedReranker:
    """Scores by the beginning of a document; what is not planned scores `otherwise`."""

    identity = "toy:reranker"

    def __init__(self, scores: Mapping[str, float], otherwise: float = 0.0) -> None:
        self.planned = scores
        self.otherwise = otherwise
        self.read: list[str] = []

    def ready(self) -> None:
        """It is."""

    def scores(self, query: str, documents: Sequence[str]) -> list[float]:
        self.read += documents
        return [
            next((said for text, said in self.planned.items() if one.startswith(text)),
                 self.otherwise)
            for one in documents
        ]  # fmt: skip


class HangingReranker(PlannedReranker):
    """Scores every document 0.5; after `reads` documents it waits for `go_on`."""

    def __init__(self, reads: int) -> None:
        super().__init__({}, otherwise=0.5)
        self.reads = reads
        self.go_on = threading.Event()
        self.stopped = threading.Event()

    def scores(self, query: str, documents: Sequence[str]) -> list[float]:
        if len(self.read) >= self.reads:
            self.stopped.set()
            self.go_on.wait()
        return super().scores(query, documents)


def ranking(channel: str, scores: Mapping[str, float]) -> Ranking:
    """A channel's hits as given, in this order."""
    return Ranking(tuple(Hit(id, leaf(channel, score, "")) for id, score in scores.items()))


@pytest.fixture
def search_at(tmp_path: Path) -> Iterator[Callable[..., SearchContext]]:
    """`search_at(query, {id: text or fields}, vectors={id: vector}, channels={name: {id: score}},
    scores={text: score})`: the memories are stored and read, the vectors are there, the channels
    found what is given. Without `asked`, the query's vector, there is no embedding model."""
    store = SqliteStore(tmp_path / "vault.db")

    def build(
        text: str,
        memories: Mapping[str, str | Mapping[str, Any]] | None = None,
        *,
        vectors: Mapping[str, Sequence[float]] | None = None,
        asked: Sequence[float] | None = None,
        channels: Mapping[str, Mapping[str, float]] | None = None,
        scores: Mapping[str, float] | None = None,
        reranker: Reranker | None = None,
        budget_ms: int = 60_000,
        limit: int = 10,
        now: datetime = NOW,
        literal: bool = False,
        filter: Filter | None = None,
        include_expired: bool = False,
        vector_channel: str = "vector",
    ) -> SearchContext:
        fields = {
            id: {"text": held} if isinstance(held, str) else dict(held)
            for id, held in (memories or {}).items()
        }
        with store.writing(CHANGE) as write:
            keys = {
                id: write.add(complete_draft(make_draft(held), id, None, now)).key
                for id, held in fields.items()
            }
        if vectors:
            rows = {id: np.array(row, np.float32) for id, row in vectors.items()}
            unit = [(keys[id], row / np.linalg.norm(row)) for id, row in rows.items()]
            store.vectors.put(IDENTITY, len(unit[0][1]), unit)
        reads = PlannedReranker(scores) if scores is not None else reranker
        at = SearchContext(
            recipe="r",
            search=Search(
                query=text,
                filter=filter or Filter(),
                literal=literal,
                include_expired=include_expired,
            ),
            limit=limit,
            now=now,
            store=store,
            models=PlannedModels(asked, reads, budget_ms),
            roles={"vector": vector_channel, "subwords": "subwords"},
        )
        at.channels |= {name: ranking(name, held) for name, held in (channels or {}).items()}
        at.load(fields)
        return at

    yield build
    store.close()


OverAt = Callable[[threading.Event], list[float | None]]


@pytest.fixture
def over_at(monkeypatch: pytest.MonkeyPatch) -> OverAt:
    """Lets the deadline of a reranker be over when an event comes, however slow or quick the
    machine is; in the list are the seconds that each search would have waited."""

    def set_over(event: threading.Event) -> list[float | None]:
        waited: list[float | None] = []

        class Thread(threading.Thread):
            def join(self, timeout: float | None = None) -> None:
                waited.append(timeout)
                assert event.wait(LONGEST_S)

        instead = SimpleNamespace(Thread=Thread, Event=threading.Event)
        monkeypatch.setattr("recollect.stages.rerank.threading", instead)
        return waited

    return set_over


def fused_ranking(**scores: float) -> Ranking:
    """Return a ranking as a fusion makes it, with three hits dropped by the pool."""
    terms = {
        id: combine("fused", "sum", [leaf("keyword", score, "")]) for id, score in scores.items()
    }
    return ranked((Hit(id, term) for id, term in terms.items()), {"pool": 3})
