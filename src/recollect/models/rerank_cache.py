"""A cache of rerank scores: a repeated query, or one with another weight, waits for no model."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from recollect.hashing import content_digest
from recollect.models.base import Reranker

MOST = 8192  # pairs; 16 bytes of key and a number each
Key = bytes


class RerankCache:
    """A reranker that computes a score once and keeps the last few thousand."""

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
        known = self._recalled(keys)
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

    def _recalled(self, keys: Sequence[Key]) -> dict[Key, float]:
        with self._guard:
            found = {key: self._scores[key] for key in keys if key in self._scores}
            for key in found:
                self._scores.move_to_end(key)
            return found

    def _keep(self, fresh: dict[Key, float]) -> None:
        with self._guard:
            self._scores |= fresh
            while len(self._scores) > self._most:
                self._scores.popitem(last=False)
