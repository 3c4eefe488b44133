"""How long loading and using the active models takes here."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import count

from recollect.errors import ProviderError
from recollect.models.active import ActiveModels

QUERY = "how do we refresh session token {}"
DOCUMENT = "Refresh token {} is exchanged for a new access token before the old one expires."


def measured(active: ActiveModels) -> dict[str, float]:
    """Milliseconds by what was done; a model that is not there is left out. No text comes twice:
    what the models said of one is remembered."""
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
