"""Reranking by any server with `POST /rerank`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from recollect.errors import ProviderError, UserError
from recollect.models.remote import Blamed, Key, Remote, ordered
from recollect.settings import Rerank

WHO = "The rerank provider http"


class _RerankResult(Struct):
    index: int
    relevance_score: float


class _RerankResponse(Struct):
    results: list[_RerankResult]


class HttpReranker:
    """The model `rerank.model` at `rerank.base_url`; satisfies `Reranker`."""

    def __init__(self, settings: Rerank, environment: Mapping[str, str]) -> None:
        """Check the settings, without any request; UserError names the one that is wrong."""
        if not settings.base_url:
            raise UserError(
                "rerank.base_url must be set when rerank.provider is http: the address whose "
                "/rerank is asked."
            )
        self._model = settings.model
        self._remote = Remote(
            settings.base_url,
            blamed=Blamed.of("rerank"),
            who=WHO,
            timeout_s=settings.timeout_s,
            key=Key.read(environment, settings.api_key_env),
            hints={404: "check rerank.base_url and rerank.model"},
        )

    @property
    def identity(self) -> str:
        return f"http:{self._model}"

    def ready(self) -> None:
        self._remote.ready()

    def scores(self, query: str, documents: Sequence[str]) -> list[float]:
        """One score in 0…1 per document, in the order given; no request for no documents."""
        if not documents:
            return []
        body = {"model": self._model, "query": query, "documents": list(documents)}
        results = self._remote.post("/rerank", body, _RerankResponse).results
        numbered = ((result.index, result.relevance_score) for result in results)
        scores = ordered(numbered, count=len(documents), who=WHO)
        if not all(0 <= score <= 1 for score in scores):  # false for NaN as well
            raise ProviderError(
                f"{WHO} gave a relevance_score that is not a number in 0…1.", transient=False
            )
        return scores

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        self._remote.close()
