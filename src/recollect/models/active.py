"""Open the models from the settings on first use; cache rerank scores; measure the models."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from typing import Any, Literal, TypeVar

from msgspec import Struct, structs

from recollect.errors import ProviderError, UserError
from recollect.hashing import content_digest
from recollect.lifetime import Lifetime
from recollect.models.base import Embedder, Reranker
from recollect.models.folder import ModelFolder, builtin, embedding_models
from recollect.settings import Embedding, Rerank, Settings

MOST = 8192  # pairs; 16 bytes of key and a number each
Key = bytes
# Texts for `measure_models`.
QUERY = "how do we refresh session token {}"
DOCUMENT = "Refresh token {} is exchanged for a new access token before the old one expires."


class Absent(Struct, frozen=True):
    """A missing model; `reason` is a clause that can follow "because"."""

    reason: str


def _own_embedder(settings: Embedding, environment: Mapping[str, str]) -> Embedder:
    from recollect.models.onnx import embedder_of  # noqa: PLC0415  numpy

    return embedder_of(_folder("embed", "embedding", settings), settings, settings.provider)


def _own_reranker(settings: Rerank, environment: Mapping[str, str]) -> Reranker:
    from recollect.models.onnx import OnnxReranker  # noqa: PLC0415  numpy

    return OnnxReranker(_folder("rerank", "rerank", settings), settings.provider)


def _folder(
    kind: Literal["embed", "rerank"], section: str, settings: Embedding | Rerank
) -> ModelFolder:
    if settings.provider == "builtin":
        return builtin(kind, settings.model)
    if not settings.model:
        raise UserError(f"{section}.model must name the folder that holds the ONNX model.")
    return ModelFolder(Path(settings.model).expanduser(), kind)


def _remote(name: str, settings: Embedding | Rerank, environment: Mapping[str, str]) -> Any:
    """Open the remote model of this class."""
    from recollect.models import providers  # noqa: PLC0415  start-up time

    return getattr(providers, name)(settings, environment)


EMBEDDERS: dict[str, Callable[[Embedding, Mapping[str, str]], Embedder | Absent]] = {
    "builtin": _own_embedder,
    "onnx": _own_embedder,
    "openai": partial(_remote, "OpenAIEmbedder"),
    "ollama": partial(_remote, "OllamaEmbedder"),
    "none": lambda settings, environment: Absent('embedding.provider is "none"'),
}
RERANKERS: dict[str, Callable[[Rerank, Mapping[str, str]], Reranker | Absent]] = {
    "builtin": _own_reranker,
    "onnx": _own_reranker,
    "http": partial(_remote, "HttpReranker"),
    "none": lambda settings, environment: Absent('rerank.provider is "none"'),
}


def open_embedder(settings: Embedding, environment: Mapping[str, str]) -> Embedder | Absent:
    """Return the embedder from the settings; UserError names a wrong setting."""
    if settings.dimensions < 0:
        raise UserError("embedding.dimensions must be 0 (all of them) or above.")
    factory = EMBEDDERS.get(settings.provider)
    if factory is None:
        raise _unknown_provider("embedding", EMBEDDERS)
    return factory(settings, environment)


def open_reranker(settings: Rerank, environment: Mapping[str, str]) -> Reranker | Absent:
    """Return the reranker from the settings; UserError names a wrong setting."""
    factory = RERANKERS.get(settings.provider)
    if factory is None:
        raise _unknown_provider("rerank", RERANKERS)
    return factory(settings, environment)


def _unknown_provider(section: str, registry: Mapping[str, object]) -> UserError:
    return UserError(f"{section}.provider must be one of: {', '.join(registry)}.")


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
        self.serves_former = False  # as of the last call of `embedder`
        self.budget_ms = settings.rerank.budget_ms
        # The identity of the vault's model, and the current settings: another process may have
        # switched the model.
        self.vault_model: Callable[[], str | None] = lambda: None
        self.newest_settings: Callable[[], Settings] = lambda: settings

    @cached_property
    def _embedder(self) -> Embedder | Absent:
        try:
            return open_embedder(self._settings.embedding, self._environment)
        except ProviderError as error:  # its files are missing or damaged
            return Absent(str(error))

    @cached_property
    def _reranker(self) -> Reranker | Absent:
        try:
            opened = open_reranker(self._settings.rerank, self._environment)
        except ProviderError as error:
            return Absent(str(error))
        if isinstance(opened, Absent) or self._lifetime is not Lifetime.SERVER:
            return opened
        return RerankCache(opened)

    def embedder(self) -> Embedder:
        """Return the model of the vault's vectors: the one from the settings, or the former one
        until all vectors of the new one are made."""
        former = self.former_embedder()
        self.serves_former = former is not None
        return former or self.configured_embedder()

    def configured_embedder(self) -> Embedder:
        """Return the model from the settings."""
        return _present(self._embedder)

    def former_embedder(self) -> Embedder | None:
        """Return the model of the vault's vectors if the settings name another one by now; None if
        they do not, or if it is not installed."""
        wanted = None if isinstance(self._embedder, Absent) else self.vault_model()
        if wanted is None or self._is_configured(wanted):
            return None
        newest = self.newest_settings()
        if newest.embedding != self._settings.embedding:
            self._settings = structs.replace(self._settings, embedding=newest.embedding)
            del self._embedder
        return None if self._is_configured(wanted) else self._bundled().get(wanted)

    def _is_configured(self, identity: str) -> bool:
        return not isinstance(self._embedder, Absent) and self._embedder.identity == identity

    def _bundled(self) -> dict[str, Embedder]:
        """Return the bundled embedding models by identity, with all other settings unchanged."""
        if self._others is None:
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
        """Return True if an embedding model is configured; UserError names a wrong setting."""
        return not isinstance(self._embedder, Absent)

    def identities(self) -> dict[str, str | None]:
        """Return the identity of each model, None for a missing one."""
        models = {"embedding": self._embedder, "rerank": self._reranker}
        return {
            name: None if isinstance(model, Absent) else model.identity
            for name, model in models.items()
        }

    def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        for name in ("_embedder", "_reranker"):
            opened: Any = self.__dict__.get(name)  # None if the property was never read
            if hasattr(opened, "close"):
                opened.close()


Model = TypeVar("Model")


def _present(model: Model | Absent) -> Model:
    if isinstance(model, Absent):
        raise ProviderError(model.reason, transient=False)
    return model


class RerankCache:
    """A reranker that keeps the last few thousand scores."""

    def __init__(self, reranker: Reranker, most: int = MOST) -> None:
        self._reranker = reranker
        self._most = most
        self._scores: OrderedDict[Key, float] = OrderedDict()
        self._guard = threading.Lock()

    @property
    def identity(self) -> str:
        return self._reranker.identity

    def ready(self) -> None:
        self._reranker.ready()

    def scores(self, query: str, documents: Sequence[str]) -> list[float]:
        keys = [content_digest(f"{len(query)} {query}{text}", 16) for text in documents]
        known = self._look_up(keys)
        asked = [place for place, key in enumerate(keys) if key not in known]
        if asked:
            scores = self._reranker.scores(query, [documents[place] for place in asked])
            fresh = {keys[place]: score for place, score in zip(asked, scores, strict=True)}
            self._keep(fresh)
            known |= fresh
        return [known[key] for key in keys]

    def close(self) -> None:
        """Close the connections of a remote reranker."""
        if hasattr(self._reranker, "close"):
            self._reranker.close()

    def _look_up(self, keys: Sequence[Key]) -> dict[Key, float]:
        with self._guard:
            known = {key: self._scores[key] for key in keys if key in self._scores}
            for key in known:
                self._scores.move_to_end(key)
            return known

    def _keep(self, fresh: dict[Key, float]) -> None:
        with self._guard:
            self._scores |= fresh
            while len(self._scores) > self._most:
                self._scores.popitem(last=False)


def measure_models(active: ActiveModels) -> dict[str, float]:
    """Return milliseconds by task; missing models are left out. Texts differ, since scores are
    cached."""
    spent: dict[str, float] = {}
    numbers = count(time.time_ns())

    def texts(form: str, many: int) -> list[str]:
        return [form.format(next(numbers)) for _ in range(many)]

    def rerank(many: int) -> object:
        [query] = texts(QUERY, 1)
        return active.reranker().scores(query, texts(DOCUMENT, many))

    calls: dict[str, Callable[[], object]] = {
        "load and embed one query": lambda: active.embedder().queries(texts(QUERY, 1)),
        "embed one query": lambda: active.embedder().queries(texts(QUERY, 1)),
        "embed 20 memories": lambda: active.embedder().documents(texts(DOCUMENT, 20)),
        "load and rerank one": lambda: rerank(1),
        "rerank 20 memories": lambda: rerank(20),
    }
    for name, call in calls.items():
        start = time.perf_counter()
        try:
            call()
        except ProviderError:
            continue
        spent[name] = round((time.perf_counter() - start) * 1000, 1)
    return spent
