"""The embedding pipeline: memories without a vector of the active model get one, in batches."""

from __future__ import annotations

import threading
from collections.abc import Callable

from recollect.errors import RecollectError
from recollect.models.base import Embedder
from recollect.store.base import VectorIndex

# Source: the `vault` recipe, "Vectors": embedded in batches of 100.
BATCH = 100


def embed_waiting(
    vectors: VectorIndex,
    embedder: Embedder,
    *,
    progress: Callable[[int], None] = lambda done: None,
    stop: Callable[[], bool] = lambda: False,
) -> int:
    """Embed what waits, oldest first; each batch is kept before the next is begun.

    Stops early when `stop` says so. Raises ProviderError when the model does not deliver: what was
    kept stays, the rest goes on waiting.
    """
    done = 0
    while not stop():
        batch = vectors.waiting(embedder.identity, BATCH)
        if not batch:
            break
        made = embedder.documents([text for _, text in batch])
        keys = (key for key, _ in batch)
        vectors.put(embedder.identity, made.shape[1], zip(keys, made, strict=True))
        done += len(batch)
        progress(len(batch))
    return done


class Background:
    """Embeds what waits in a thread of its own, so that no save waits for a remote model.

    A failure ends the round; the next save, or `recollect reindex`, begins another.
    """

    def __init__(self, vectors: VectorIndex, embedder: Callable[[], Embedder]) -> None:
        self._vectors = vectors
        self._embedder = embedder
        self._guard = threading.Lock()
        self._again = False
        self._closing = False
        self._thread: threading.Thread | None = None
        self.failure: str | None = None

    def wake(self) -> None:
        """There is something to embed."""
        with self._guard:
            self._again = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()

    def close(self, patience_s: float) -> None:
        """Let the round under way finish, but not for longer than this."""
        thread = self._thread
        if thread is not None:
            thread.join(patience_s)
        self._closing = True
        if thread is not None and thread.is_alive():
            thread.join(0.1)

    def _work(self) -> None:
        while True:
            with self._guard:
                if not self._again or self._closing:
                    self._thread = None
                    return
                self._again = False
            try:
                embed_waiting(self._vectors, self._embedder(), stop=lambda: self._closing)
                self.failure = None
            except RecollectError as error:  # the model or the vault is away; the save is kept
                self.failure = str(error)
