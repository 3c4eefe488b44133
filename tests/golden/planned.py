"""A still clock, small vaults, and models with planned answers for the golden tests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from math import sqrt
from pathlib import Path
from typing import Any

import apsw

from model_server import ModelServer, Recorded, Reply
from recollect import Recollect, Response, Result
from recollect.errors import ProviderError
from recollect.ingest.draft import make_draft
from recollect.memory_json import memory_json
from recollect.models.active import ActiveModels
from recollect.settings import ContextSettings, Embedding, Rerank, Settings
from recollect.store.base import COLUMNS
from recollect.types import Filter, Term

Fields = Mapping[str, Any]

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)
HOUR = timedelta(hours=1)
SPARE = 3  # the place that texts without a plan point to: at right angles to every planned one


class PlannedServer(ModelServer):
    """Vectors and rerank scores by the first line of a text: a query, or a memory's title."""

    def __init__(self, *, dimensions: int = 8) -> None:
        super().__init__(dimensions=dimensions)
        self.planned: dict[str, Sequence[float]] = {}
        self.relevance: dict[str, float] = {}

    def __enter__(self) -> PlannedServer:
        super().__enter__()
        return self

    def plan(self, query: str, cosines: Mapping[str, float]) -> None:
        """Let each of these memories, by title, have this cosine with the query."""
        self.planned[query] = at_cosine(1.0)
        self.planned |= {title: at_cosine(cosine) for title, cosine in cosines.items()}

    def asked_to_embed(self, text: str) -> int:
        """Return the number of requests to embed this text alone: one for each search that did."""
        return sum(request.body == {**request.body, "input": [text]} for request in self.embeds())

    def embeds(self) -> list[Recorded]:
        paths = ("/v1/embeddings", "/api/embed")
        return [request for request in self.requests if request.path in paths]

    def reranked(self) -> list[str]:
        """The first line of every document that was sent to be reranked."""
        bodies = [request.body for request in self.requests if request.path == "/rerank"]
        return [_first_line(document) for body in bodies for document in body["documents"]]

    def answer(self, request: Recorded) -> Reply:
        reply = super().answer(request)
        if request.path != "/rerank" or reply.status != 200:
            return reply
        scores = [self.relevance.get(_first_line(text), 0.0) for text in request.body["documents"]]
        results = [{"index": index, "relevance_score": one} for index, one in enumerate(scores)]
        return Reply(200, {"results": results})

    def _vectors(self, texts: list[str]) -> list[list[Any]]:
        unplanned = [0.0] * SPARE + [1.0]
        rows = [list(self.planned.get(_first_line(text), unplanned)) for text in texts]
        return [row + [0.0] * (self.dimensions - len(row)) for row in rows]


def fts5_scores(
    memory: Recollect, expression: str, weights: Mapping[str, float]
) -> dict[str, float]:
    """Return SQLite's own bm25() of the vault's memories, best first, ties by id; a column without
    a weight has none."""
    columns = COLUMNS["stemmed"]
    connection = apsw.Connection(":memory:")
    named = ", ".join(columns)
    connection.execute(f"CREATE VIRTUAL TABLE t USING fts5({named}, tokenize='porter unicode61')")
    for one in memory.store.memories.browse(Filter(archived=True), 1000):
        fields = memory_json(one) | {"tags": " ".join(one.tags)}
        values = [fields[column] for column in columns]
        connection.execute(f"INSERT INTO t VALUES ({', '.join('?' * len(values))})", values)
    weighted = ", ".join(str(weights.get(column, 0)) for column in columns)
    rows: Any = connection.execute(
        f"SELECT id, -bm25(t, {weighted}) AS score FROM t WHERE t MATCH ? ORDER BY score DESC, id",
        (expression,),
    ).fetchall()
    return dict(rows)


def stored_dimensions(memory: Recollect, id: str) -> int:
    """Return the length of a memory's vector in the vault."""
    [stored] = memory.store.vectors.read_vectors(memory.models.embedder().identity, [id])[id]
    return len(stored.vector)


def at_cosine(cosine: float) -> tuple[float, float]:
    """A unit vector that has this cosine with (1, 0)."""
    return (cosine, sqrt(1 - cosine * cosine))


def settings(
    server: ModelServer | None, provider: str = "openai", *, rerank: bool = False, **embedding: Any
) -> Settings:
    """Models at this server, or none at all. The rerank deadline is far away."""
    told: dict[str, Any] = {"provider": "none"}
    reading = Rerank(provider="none")
    if server is not None:
        url = server.openai_url if provider == "openai" else server.url
        told = {"provider": provider, "model": "toy", "base_url": url, **embedding}
        if rerank:
            reading = Rerank(provider="http", model="toy", base_url=server.url, budget_ms=60_000)
    return Settings(embedding=Embedding(**told), rerank=reading, context=ContextSettings())


@contextmanager
def vault(
    folder: Path, memories: Sequence[Fields] = (), using: Settings | None = None
) -> Iterator[Recollect]:
    """A vault that holds these memories, each with its vector where there is a model. They are
    saved before the model is there, so that no background thread asks it for anything."""
    with Recollect(
        folder / "vault.db", home=folder, settings=settings(None), environment={}, clock=lambda: NOW
    ) as memory:
        memory.save_all([make_draft(fields) for fields in memories])
    opened = Recollect(
        folder / "vault.db",
        home=folder,
        settings=using or settings(None),
        environment={},
        clock=lambda: NOW,
    )
    models = opened.models
    try:
        with opened as memory:
            assert memory.embed_now() is None
            yield memory
    finally:
        close_models(models)


def search_planned(
    folder: Path,
    memories: Sequence[Fields],
    query: str,
    recipe: str,
    *,
    cosines: Mapping[str, float] | None = None,
    relevance: dict[str, float] | None = None,
    **more: Any,
) -> Response:
    """Search these memories by a model with these cosines, by title; None: all are equally near.
    With `relevance`, a reranker gives these scores by title."""
    with PlannedServer() as server:
        if cosines is not None:
            server.plan(query, cosines)
        server.relevance = relevance or {}
        using = settings(server, rerank=relevance is not None)
        with vault(folder, memories, using) as memory:
            return memory.search(query, recipe=recipe, **more)


def search_one(folder: Path, fields: Fields, query: str, recipe: str, **more: Any) -> Result:
    """Search a vault with this one memory and no model."""
    with vault(folder, [{"id": "m", **fields}]) as memory:
        [result] = memory.search(query, recipe=recipe, **more).results
    return result


def close_models(models: ActiveModels) -> None:
    """Let go of the connections to the model server."""
    for open_model in (models.embedder, models.reranker):
        with suppress(ProviderError):
            getattr(open_model(), "close", lambda: None)()


def raw(result: Result, name: str) -> float:
    """The raw value of the signal or channel of this name in a result's explanation."""
    term = part(result, name)
    return term.value if term.raw is None else term.raw


def part(result: Result, name: str) -> Term:
    [found] = [term for term in result.explain.leaves() if term.name == name]
    return found


def ids(response: Response) -> list[str]:
    return [result.id for result in response]


def by_id(response: Response) -> dict[str, Result]:
    return {result.id: result for result in response}


def ago(age: timedelta) -> str:
    """The point in time this long before now, as a memory writes it."""
    return (NOW - age).isoformat()


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0]
