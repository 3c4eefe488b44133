"""How long loading and using the active models takes here."""

from __future__ import annotations

import time
from collections.abc import Callable

from recollect.errors import ProviderError
from recollect.models.active import ActiveModels

QUERY = "how do we refresh session tokens"
DOCUMENTS = ["A refresh token is exchanged for a new access token before the old one expires."] * 20


def measured(active: ActiveModels) -> dict[str, float]:
    """Milliseconds by what was done; a model that is not there is left out."""
    spent: dict[str, float] = {}
    calls: dict[str, Callable[[], object]] = {
        "load and embed one query": lambda: active.embedder().queries([QUERY]),
        "embed one query": lambda: active.embedder().queries([QUERY]),
        "embed 20 memories": lambda: active.embedder().documents(DOCUMENTS),
        "load and rerank one": lambda: active.reranker().scores(QUERY, DOCUMENTS[:1]),
        "rerank 20 memories": lambda: active.reranker().scores(QUERY, DOCUMENTS),
    }
    for name, call in calls.items():
        start = time.perf_counter()
        try:
            call()
        except ProviderError:
            continue
        spent[name] = round((time.perf_counter() - start) * 1000, 1)
    return spent
