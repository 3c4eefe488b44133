"""Asking a reranker until a deadline: best candidates first, in small batches."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from recollect.context import SearchContext
from recollect.deadline import NO_DEADLINE, Deadline
from recollect.errors import ProviderError
from recollect.models.base import Reranker
from recollect.types import Reach


class RerankRun:
    """What a reranker has said so far, gathered by a thread that the search does not have to wait
    for: a remote reranker that hangs holds up nothing."""

    def __init__(
        self, reranker: Reranker, query: str, batch: int, deadline: Deadline = NO_DEADLINE
    ) -> None:
        self._reranker = reranker
        self._query = query
        self._batch = batch
        self._deadline = deadline
        self._scores: dict[str, float] = {}
        self._ready = threading.Event()
        self._late = threading.Event()
        self.failure: str | None = None

    def by(self, seconds: float, candidates: Sequence[tuple[str, str]]) -> dict[str, float]:
        """The scores of the candidates, (id, text) best first, that were read in time. Loading the
        model does not count, since it happens once, unless the search itself has a deadline."""
        thread = threading.Thread(target=self._read, args=(candidates,), daemon=True)
        thread.start()
        self._ready.wait(self._deadline.within(None))
        thread.join(self._deadline.within(seconds))
        self._late.set()
        return dict(self._scores)

    def _read(self, candidates: Sequence[tuple[str, str]]) -> None:
        try:
            self._reranker.ready()
            self._ready.set()
            for first in range(0, len(candidates), self._batch):
                if self._late.is_set():
                    return
                ids, texts = zip(*candidates[first : first + self._batch], strict=True)
                scores = self._reranker.scores(self._query, texts)
                if not self._late.is_set():
                    self._scores |= zip(ids, scores, strict=True)
        except ProviderError as error:
            self.failure = str(error)
        finally:
            self._ready.set()


def rerank_scores(
    stage: str,
    ids: Sequence[str],
    text_of: Callable[[str], str],
    batch: int,
    context: SearchContext,
) -> dict[str, float]:
    """What the reranker said of these memories, best first, by the search's deadline; empty, and
    said why under the stage's name, when it said nothing. Where there is none, no text is made."""
    if context.deadline.over:
        context.degrade(stage, context.deadline.reason)
        return {}
    with context.timed(stage):
        try:
            reranker = context.models.reranker()
        except ProviderError as error:
            context.degrade(stage, str(error))
            return {}
        run = RerankRun(reranker, context.search.query, batch, context.deadline)
        candidates = [(id, text_of(id)) for id in ids]
        scores = run.by(context.models.budget_ms / 1000, candidates)
    if run.failure is not None:
        context.degrade(stage, run.failure)
    elif len(scores) < len(candidates):
        limit = context.deadline.milliseconds if context.deadline.over else None
        which = f" of {limit} ms" if limit else ""
        reason = f"reranked {len(scores)} of {len(candidates)} within the deadline{which}"
        context.degrade(stage, reason, Reach(len(scores), len(candidates), limit))
    return scores
