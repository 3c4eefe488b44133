"""The models that the settings name, opened when first used and kept open."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from recollect.errors import ProviderError
from recollect.models.registry import Absent, open_embedder, open_reranker
from recollect.settings import Settings

if TYPE_CHECKING:
    from recollect.models.base import Embedder, Reranker


class ActiveModels:
    """Both models; asking for one that is switched off raises ProviderError with the reason."""

    def __init__(
        self, settings: Settings, environment: Mapping[str, str], *, remember: bool = False
    ) -> None:
        """`remember` keeps the last few thousand rerank scores, for a process that gets the same
        query again."""
        self._remember = remember
        self._settings = settings
        self._environment = environment
        self.budget_ms = settings.rerank.budget_ms

    @cached_property
    def _embedder(self) -> Embedder | Absent:
        try:
            return open_embedder(self._settings.embedding, self._environment)
        except ProviderError as error:  # its files are missing or damaged: there is no model
            return Absent(str(error))

    @cached_property
    def _reranker(self) -> Reranker | Absent:
        try:
            opened = open_reranker(self._settings.rerank, self._environment)
        except ProviderError as error:  # as above
            return Absent(str(error))
        if isinstance(opened, Absent) or not self._remember:
            return opened
        from recollect.models.rerank_cache import RerankCache  # noqa: PLC0415  start-up time

        return RerankCache(opened)

    def embedder(self) -> Embedder:
        return _present(self._embedder)

    def reranker(self) -> Reranker:
        return _present(self._reranker)

    def embeds(self) -> bool:
        """Whether an embedding model is configured at all."""
        return not isinstance(self._embedder, Absent)

    def identities(self) -> dict[str, str | None]:
        """The identity of each model; None where there is none."""
        models = {"embedding": self._embedder, "rerank": self._reranker}
        return {
            name: None if isinstance(model, Absent) else model.identity
            for name, model in models.items()
        }

    def close(self) -> None:
        """Close the connections that were opened; a model that is asked again opens new ones."""
        for name in ("_embedder", "_reranker"):
            opened: Any = self.__dict__.get(name)  # a property never read is not there
            if hasattr(opened, "close"):
                opened.close()


Model = TypeVar("Model")


def _present(model: Model | Absent) -> Model:
    if isinstance(model, Absent):
        raise ProviderError(model.reason, transient=False)
    return model
