"""Embeddings from an Ollama server."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from recollect.errors import ProviderError
from recollect.models.remote_embedder import RemoteEmbedder
from recollect.settings import Embedding

DEFAULT_URL = "http://127.0.0.1:11434"
NO_KEY = "ollama is sent no key, but embedding.base_url may hold user:password@"
# Connecting and answering may each take this long, so the question costs half a second at most.
WARM_TIMEOUT_S = 0.25


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
            default_url=DEFAULT_URL,
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
