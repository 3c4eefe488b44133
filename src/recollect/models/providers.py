"""Remote models: embeddings from OpenAI, from any server with its `/embeddings`, and from Ollama;
reranking by any server with `POST /rerank`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from recollect.errors import ProviderError, UserError
from recollect.models.remote import Blamed, Key, Remote, sort_by_index
from recollect.settings import Embedding, Rerank

if TYPE_CHECKING:  # exists for type checkers only
    from recollect.models.base import Matrix

OPENAI_URL = "https://api.openai.com/v1"
OLLAMA_URL = "http://127.0.0.1:11434"
NO_KEY = "ollama is sent no key, but embedding.base_url may hold user:password@"
# For connecting and for answering, so the request takes half a second at most.
WARM_TIMEOUT_S = 0.25
WHO = "The rerank provider http"


class RemoteEmbedder:
    """Adds prefixes, splits into batches, checks and cuts; a subclass requests one batch."""

    local = False

    def __init__(
        self,
        settings: Embedding,
        provider: str,
        *,
        default_url: str,
        example: str,
        hints: Mapping[int, str],
        key: Key = Key(),  # noqa: B008  frozen
    ) -> None:
        """Check the settings, without any request; UserError names a wrong one.

        example: a model's name.
        hints: what to do about a status code.
        """
        if not settings.model:
            raise UserError(
                f"embedding.model must name a model when embedding.provider is {provider}, such as "
                f"{example}."
            )
        self._settings = settings
        self._who = f"The embedding provider {provider}"
        self._remote = Remote(
            settings.base_url or default_url,
            blamed=Blamed.of("embedding"),
            who=self._who,
            timeout_s=settings.timeout_s,
            key=key,
            hints=hints,
        )

    @property
    def identity(self) -> str:
        """Provider, model, and the configured dimensions and prefixes; never an address."""
        settings = self._settings
        parts = [f"{settings.provider}:{settings.model}"]
        if settings.dimensions > 0:
            parts.append(f"dimensions={settings.dimensions}")
        for name in ("query_prefix", "document_prefix"):
            if prefix := getattr(settings, name):
                # Quoted, so that no prefix can be read as the start of another part.
                parts.append(f"{name}={json.dumps(prefix)}")
        return " ".join(parts)

    def warm(self) -> bool:
        return True

    def queries(self, texts: Sequence[str]) -> Matrix:
        return self._vectors(self._settings.query_prefix, texts)

    def documents(self, texts: Sequence[str]) -> Matrix:
        return self._vectors(self._settings.document_prefix, texts)

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        self._remote.close()

    def _vectors(self, prefix: str, texts: Sequence[str]) -> Matrix:
        from recollect.models.vectors import in_batches  # noqa: PLC0415  numpy

        # Cut here, not by the server: many servers refuse a field "dimensions".
        return in_batches(
            texts, prefix, self._rows, dimensions=self._settings.dimensions, who=self._who
        )

    def _rows(self, texts: list[str]) -> list[list[float]]:
        """Send one request; return a row of numbers per text, in order."""
        raise NotImplementedError


class _EmbeddingItem(Struct):
    embedding: list[float]
    index: int | None = None  # some compatible servers leave it out and keep the order


class _EmbeddingsResponse(Struct):
    data: list[_EmbeddingItem]


class OpenAIEmbedder(RemoteEmbedder):
    """The model `embedding.model` at `embedding.base_url`; satisfies `Embedder`."""

    def __init__(self, settings: Embedding, environment: Mapping[str, str]) -> None:
        super().__init__(
            settings,
            "openai",
            default_url=OPENAI_URL,
            example="text-embedding-3-small",
            hints={
                400: "a text may be too long for the model",
                404: "check embedding.model and embedding.base_url",
            },
            key=Key.read(environment, settings.api_key_env),
        )

    def _rows(self, texts: list[str]) -> list[list[float]]:
        body = {"model": self._settings.model, "input": texts, "encoding_format": "float"}
        answer = self._remote.post("/embeddings", body, _EmbeddingsResponse)
        numbered = (
            (place if item.index is None else item.index, item.embedding)
            for place, item in enumerate(answer.data)
        )
        return sort_by_index(numbered, count=len(texts), who=self._who)


class _EmbedResponse(Struct):
    embeddings: list[list[float]]


class _LoadedModel(Struct):
    name: str


class _LoadedModels(Struct):
    models: list[_LoadedModel]


class OllamaEmbedder(RemoteEmbedder):
    """The model `embedding.model` at `embedding.base_url`; satisfies `Embedder`.

    No key is sent: `embedding.api_key_env` names OpenAI's key by default.
    """

    def __init__(self, settings: Embedding, environment: Mapping[str, str]) -> None:
        super().__init__(
            settings,
            "ollama",
            default_url=OLLAMA_URL,
            example="nomic-embed-text",
            hints={
                401: NO_KEY,
                403: NO_KEY,
                404: f"run `ollama pull {settings.model}`, or check embedding.base_url",
            },
        )

    def warm(self) -> bool:
        """Return True if the server has the model loaded; False after half a second."""
        try:
            loaded = self._remote.get_once("/api/ps", _LoadedModels, timeout_s=WARM_TIMEOUT_S)
        except ProviderError:
            return False
        wanted = _with_tag(self._settings.model)
        return any(_with_tag(model.name) == wanted for model in loaded.models)

    def _rows(self, texts: list[str]) -> list[list[float]]:
        body = {"model": self._settings.model, "input": texts}
        return self._remote.post("/api/embed", body, _EmbedResponse).embeddings


def _with_tag(model: str) -> str:
    """Return the name with its tag; Ollama reads a name without one as `:latest`."""
    # Only the last part: a registry's address before it may have a port.
    return model if ":" in model.rpartition("/")[2] else f"{model}:latest"


class _RerankResult(Struct):
    index: int
    relevance_score: float


class _RerankResponse(Struct):
    results: list[_RerankResult]


class HttpReranker:
    """The model `rerank.model` at `rerank.base_url`; satisfies `Reranker`."""

    def __init__(self, settings: Rerank, environment: Mapping[str, str]) -> None:
        """Check the settings, without any request; UserError names a wrong one."""
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
        if not documents:
            return []
        body = {"model": self._model, "query": query, "documents": list(documents)}
        results = self._remote.post("/rerank", body, _RerankResponse).results
        numbered = ((result.index, result.relevance_score) for result in results)
        scores = sort_by_index(numbered, count=len(documents), who=WHO)
        if not all(0 <= score <= 1 for score in scores):  # false for NaN as well
            raise ProviderError(
                f"{WHO} gave a relevance_score that is not a number in 0…1.", transient=False
            )
        return scores

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        self._remote.close()
