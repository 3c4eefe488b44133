"""What the embedders that ask a server have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from recollect.errors import UserError
from recollect.models import vectors
from recollect.models.remote import Blamed, Key, Remote
from recollect.settings import Embedding

if TYPE_CHECKING:  # exists for type checkers only
    from recollect.models.base import Matrix


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
        # Cut here, not by the server: many servers refuse a field "dimensions".
        return vectors.in_batches(
            texts, prefix, self._rows, dimensions=self._settings.dimensions, who=self._who
        )

    def _rows(self, texts: list[str]) -> list[list[float]]:
        """One request: a row of numbers per text, in order."""
        raise NotImplementedError
