"""The models that the settings name, opened when first used and kept open."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import structs

from recollect.errors import ProviderError
from recollect.lifetime import Lifetime
from recollect.models.registry import Absent, open_embedder, open_reranker
from recollect.settings import Settings

if TYPE_CHECKING:
    from recollect.models.base import Embedder, Reranker


class ActiveModels:
    """Both models; asking for one that is switched off raises ProviderError with the reason."""

    def __init__(
        self,
        settings: Settings,
        environment: Mapping[str, str],
        lifetime: Lifetime = Lifetime.LIBRARY,
    ) -> None:
        """A server keeps the last few thousand rerank scores: it gets the same query again."""
        self._lifetime = lifetime
        self._settings = settings
        self._environment = environment
        self._others: dict[str, Embedder] | None = None
        self.serves_former = False  # as of the last time that somebody asked for the embedder
        self.budget_ms = settings.rerank.budget_ms
        # The identity of the vault's model, where vectors are searched that a vault has; and the
        # settings as they are by now: another process may have switched the model.
        self.vault_model: Callable[[], str | None] = lambda: None
        self.newest_settings: Callable[[], Settings] = lambda: settings

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
        if isinstance(opened, Absent) or self._lifetime is not Lifetime.SERVER:
            return opened
        from recollect.models.rerank_cache import RerankCache  # noqa: PLC0415  start-up time

        return RerankCache(opened)

    def embedder(self) -> Embedder:
        """The model of the vault's vectors: that of the settings, or the one before it until the
        vectors of the new one are all there."""
        former = self.former()
        self.serves_former = former is not None
        return former or self.chosen()

    def chosen(self) -> Embedder:
        """The model of the settings."""
        return _present(self._embedder)

    def former(self) -> Embedder | None:
        """The model of the vault's vectors where the settings name another one by now; None where
        it is not installed."""
        wanted = None if isinstance(self._embedder, Absent) else self.vault_model()
        if wanted is None or self._is_chosen(wanted):
            return None
        newest = self.newest_settings()
        if newest.embedding != self._settings.embedding:
            self._settings = structs.replace(self._settings, embedding=newest.embedding)
            del self._embedder
        return None if self._is_chosen(wanted) else self._bundled().get(wanted)

    def _is_chosen(self, identity: str) -> bool:
        return not isinstance(self._embedder, Absent) and self._embedder.identity == identity

    def _bundled(self) -> dict[str, Embedder]:
        """The bundled embedding models by identity, with the other settings as they are."""
        if self._others is None:
            from recollect.models.builtin import embedding_models  # noqa: PLC0415  start-up time

            settings = self._settings.embedding
            named = (
                structs.replace(settings, provider="builtin", model=name)
                for name in embedding_models()
            )
            opened = (open_embedder(each, self._environment) for each in named)
            self._others = {e.identity: e for e in opened if not isinstance(e, Absent)}
        return self._others

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
