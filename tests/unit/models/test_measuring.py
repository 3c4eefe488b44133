"""The models are measured with texts that no cache holds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from recollect.models.active import measure_models


def test_no_text_is_read_twice() -> None:
    read: list[str] = []
    queries: list[str] = []

    def scores(query: str, documents: list[str]) -> None:
        queries.append(query)
        read.extend(documents)

    embedder = SimpleNamespace(queries=queries.extend, documents=read.extend)
    models: Any = SimpleNamespace(
        embedder=lambda: embedder, reranker=lambda: SimpleNamespace(scores=scores)
    )
    for _ in range(2):
        assert "rerank 20 memories" in measure_models(models)
    assert len(read) == len(set(read)) == 2 * 41
    assert len(queries) == len(set(queries)) == 2 * 4
