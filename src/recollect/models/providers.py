"""Models that a server runs: embeddings from OpenAI, or from any server that speaks its
`/embeddings`, and from Ollama; reranking by any server with `POST /rerank`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from recollect.errors import ProviderError, UserError
from recollect.models.remote import Blamed, Key, Remote, ordered
from recollect.settings import Embedding, Rerank

if TYPE_CHECKING:  # exists for type checkers only
    from recollect.models.base import Matrix

OPENAI_URL = "https://api.openai.com/v1"
OLLAMA_URL = "http://127.0.0.1:11434"
NO_KEY = "ollama is sent no key, but embedding.base_url may hold user:password@"
# Connecting and answering may each take this long, so the question costs half a second at most.
WARM_TIMEOUT_S = 0.25
WHO = "The rerank provider http"


class RemoteEmbedder:
    """Prefixes, batches, checks and the cut; a subclass requests one batch of rows."""

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
        """Check the settings, without any request; UserError names the one that is wrong. `example`
        is a model's name, `hints` says what to do about a status code."""
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
        """Provider, model, and the dimensions and prefixes asked for; never an address."""
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
        """True: a remote service always is."""
        return True

    def queries(self, texts: Sequence[str]) -> Matrix:
        """Vectors of questions, `query_prefix` before each."""
        return self._vectors(self._settings.query_prefix, texts)

    def documents(self, texts: Sequence[str]) -> Matrix:
        """Vectors of memories, `document_prefix` before each."""
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
        """One request: a row of numbers per text, in order."""
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
        return ordered(numbered, count=len(texts), who=self._who)


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
        """Whether the server runs and has the model loaded; False after half a second."""
        try:
            loaded = self._remote.get_once("/api/ps", _LoadedModels, timeout_s=WARM_TIMEOUT_S)
        except ProviderError:
            return False
        wanted = _tagged(self._settings.model)
        return any(_tagged(model.name) == wanted for model in loaded.models)

    def _rows(self, texts: list[str]) -> list[list[float]]:
        body = {"model": self._settings.model, "input": texts}
        return self._remote.post("/api/embed", body, _EmbedResponse).embeddings


def _tagged(model: str) -> str:
    """The name with its tag; Ollama reads a name without one as `:latest`."""
    # Only the last part: a registry's address before it may hold a port.
    return model if ":" in model.rpartition("/")[2] else f"{model}:latest"


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
