"""The embedder contract, held by every remote provider through real HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from msgspec.structs import replace
from suites.embedders import EmbedderContract

from model_server import Fault, ModelServer
from recollect.models.base import Embedder
from recollect.models.providers import OllamaEmbedder, OpenAIEmbedder
from recollect.settings import Embedding


class OverHttp(EmbedderContract):
    """The contract with a model server at hand, and clients that are closed after each test."""

    tolerance = 1e-6  # the server's vectors are exact
    provider: type[OpenAIEmbedder | OllamaEmbedder] = OpenAIEmbedder
    settings = Embedding(provider="openai", model="toy")

    @pytest.fixture(autouse=True)
    def _server(self) -> Iterator[None]:
        self.opened: list[OpenAIEmbedder | OllamaEmbedder] = []
        with ModelServer() as self.server:
            yield
            for embedder in self.opened:
                embedder.close()

    def embedder(self) -> Embedder:
        openai = self.settings.provider == "openai"
        url = self.server.openai_url if openai else self.server.url
        self.opened.append(self.provider(replace(self.settings, base_url=url), {}))
        return self.opened[-1]


class TestOpenAI(OverHttp):
    def test_results_that_come_shuffled_are_put_in_order(self) -> None:
        embedder = self.embedder()
        straight = embedder.documents(["one", "two", "three"])
        self.server.fault = Fault.SHUFFLED
        assert np.array_equal(embedder.documents(["one", "two", "three"]), straight)


class TestOpenAIWithPrefixesAndACut(OverHttp):
    settings = replace(
        OverHttp.settings,
        query_prefix="search_query: ",
        document_prefix="search_document: ",
        dimensions=48,
    )


class TestOllama(OverHttp):
    provider = OllamaEmbedder
    settings = Embedding(provider="ollama", model="toy")
