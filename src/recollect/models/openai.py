"""Embeddings from OpenAI, or from any server that speaks its `/embeddings`."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from recollect.errors import UserError
from recollect.models.remote import Blamed, Key, Remote, ordered
from recollect.models.remote_embedder import RemoteEmbedder
from recollect.settings import Embedding

DEFAULT_URL = "https://api.openai.com/v1"
WHO = "The embedding provider openai"


class _EmbeddingItem(Struct):
    embedding: list[float]
    index: int | None = None  # some compatible servers leave it out and keep the order


class _EmbeddingsResponse(Struct):
    data: list[_EmbeddingItem]


class OpenAIEmbedder(RemoteEmbedder):
    """The model `embedding.model` at `embedding.base_url`; satisfies `Embedder`."""

    def __init__(self, settings: Embedding, environment: Mapping[str, str]) -> None:
        """Check the settings, without any request; UserError names the one that is wrong."""
        if not settings.model:
            raise UserError(
                "embedding.model must name a model when embedding.provider is openai, such as "
                "text-embedding-3-small."
            )
        remote = Remote(
            settings.base_url or DEFAULT_URL,
            blamed=Blamed.of("embedding"),
            who=WHO,
            timeout_s=settings.timeout_s,
            key=Key.read(environment, settings.api_key_env),
            hints={
                400: "a text may be too long for the model",
                404: "check embedding.model and embedding.base_url",
            },
        )
        super().__init__(settings, remote, WHO)

    def _rows(self, texts: list[str]) -> list[list[float]]:
        body = {"model": self._settings.model, "input": texts, "encoding_format": "float"}
        answer = self._remote.post("/embeddings", body, _EmbeddingsResponse)
        numbered = (
            (place if item.index is None else item.index, item.embedding)
            for place, item in enumerate(answer.data)
        )
        return ordered(numbered, count=len(texts), who=WHO)
