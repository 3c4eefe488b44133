"""Embeddings from OpenAI, or from any server that speaks its `/embeddings`."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from recollect.models.remote import Key, ordered
from recollect.models.remote_embedder import RemoteEmbedder
from recollect.settings import Embedding

DEFAULT_URL = "https://api.openai.com/v1"


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
            default_url=DEFAULT_URL,
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
