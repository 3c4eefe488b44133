"""Embeddings from OpenAI, or from any server that speaks its `/embeddings`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from recollect.errors import UserError
from recollect.models import vectors
from recollect.models.remote import Key, Remote, ordered
from recollect.settings import Embedding

if TYPE_CHECKING:  # exists for type checkers only
    from recollect.models.base import Matrix

DEFAULT_URL = "https://api.openai.com/v1"
WHO = "The embedding provider openai"


class _Vector(Struct):
    embedding: list[float]
    index: int | None = None  # some compatible servers leave it out and keep the order


class _Answer(Struct):
    data: list[_Vector]


class OpenAIEmbedder:
    """The model `embedding.model` at `embedding.base_url`; satisfies `Embedder`."""

    local = False

    def __init__(self, settings: Embedding, environment: Mapping[str, str]) -> None:
        """Check the settings, without any request; UserError names the one that is wrong."""
        if not settings.model:
            raise UserError(
                "embedding.model must name a model when embedding.provider is openai, such as "
                "text-embedding-3-small."
            )
        self._settings = settings
        self._remote = Remote(
            settings.base_url or DEFAULT_URL,
            section="embedding",
            who=WHO,
            timeout_s=settings.timeout_s,
            key=Key.read(environment, settings.api_key_env),
            hints={
                400: "a text may be too long for the model",
                404: "check embedding.model and embedding.base_url",
            },
        )

    @property
    def identity(self) -> str:
        return vectors.identity(self._settings)

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
        # The cut is made here, not asked for: many compatible servers refuse "dimensions".
        return vectors.in_batches(
            texts, prefix, self._rows, dimensions=self._settings.dimensions, who=WHO
        )

    def _rows(self, texts: list[str]) -> list[list[float]]:
        body = {"model": self._settings.model, "input": texts, "encoding_format": "float"}
        answer = self._remote.post("/embeddings", body, _Answer)
        numbered = (
            (place if item.index is None else item.index, item.embedding)
            for place, item in enumerate(answer.data)
        )
        return ordered(numbered, count=len(texts), who=WHO)
