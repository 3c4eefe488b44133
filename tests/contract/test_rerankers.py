"""The reranker contract, held by the HTTP provider through real HTTP, remembered or not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from suites.rerankers import RerankerContract

from model_server import ModelServer
from recollect.models.active import RerankCache
from recollect.models.base import Reranker
from recollect.models.providers import HttpReranker
from recollect.settings import Rerank


class TestHttp(RerankerContract):
    tolerance = 0.0  # the server's scores are exact

    @pytest.fixture(autouse=True)
    def _server(self) -> Iterator[None]:
        self.opened: list[HttpReranker] = []
        with ModelServer() as self.server:
            yield
            for reranker in self.opened:
                reranker.close()

    def reranker(self) -> Reranker:
        settings = Rerank(provider="http", model="toy", base_url=self.server.url)
        reranker = HttpReranker(settings, {})
        self.opened.append(reranker)
        return reranker


class TestRemembering(TestHttp):
    """In front of a provider, with room for a few texts and for many."""

    @pytest.fixture(autouse=True, params=[1, 3, 8192])
    def _room(self, request: pytest.FixtureRequest) -> None:
        self.most = request.param

    def reranker(self) -> Reranker:
        return RerankCache(super().reranker(), self.most)
