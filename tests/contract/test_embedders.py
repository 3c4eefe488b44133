"""The embedder contract, held by every remote provider through real HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from suites.embedders import EmbedderContract

from model_server import Fault, ModelServer
from recollect.models.base import Embedder
from recollect.models.providers import OllamaEmbedder, OpenAIEmbedder
from recollect.settings import Embedding


class OverHttp(EmbedderContract):
    """The contract with a model server at hand, and clients that are closed after each test."""

    tolerance = 1e-6  # the server's vectors are exact

    @pytest.fixture(autouse=True)
    def _server(self) -> Iterator[None]:
        self.opened: list[OpenAIEmbedder | OllamaEmbedder] = []
        with ModelServer() as self.server:
            yield
            for embedder in self.opened:
                embedder.close()


class TestOpenAI(OverHttp):
    def embedder(self) -> Embedder:
        settings = Embedding(provider="openai", model="toy", base_url=self.server.openai_url)
        embedder = OpenAIEmbedder(settings, {})
        self.opened.append(embedder)
        return embedder

    def test_results_that_come_shuffled_are_put_in_order(self) -> None:
        embedder = self.embedder()
        straight = embedder.documents(["one", "two", "three"])
        self.server.fault = Fault.SHUFFLED
        assert np.array_equal(embedder.documents(["one", "two", "three"]), straight)


class TestOpenAIWithPrefixesAndACut(OverHttp):
    def embedder(self) -> Embedder:
        settings = Embedding(
            provider="openai",
            model="toy",
            base_url=self.server.openai_url,
            query_prefix="search_query: ",
            document_prefix="search_document: ",
            dimensions=48,
        )
        embedder = OpenAIEmbedder(settings, {})
        self.opened.append(embedder)
        return embedder


class TestOllama(OverHttp):
    def embedder(self) -> Embedder:
        settings = Embedding(provider="ollama", model="toy", base_url=self.server.url)
        embedder = OllamaEmbedder(settings, {})
        self.opened.append(embedder)
        return embedder
