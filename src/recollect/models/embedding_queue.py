"""The embedding queue: memories without a vector of the active model get one, in batches."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from recollect.errors import ProviderError, RecollectError
from recollect.models.base import Embedder, Windowed
from recollect.store.base import VectorIndex, Waiting
from recollect.types import Span

if TYPE_CHECKING:  # exists for type checkers only
    from recollect.models.base import Matrix

# Source: the `vault` recipe, "Vectors": embedded in batches of 100.
BATCH = 100
# No model refuses these texts. There are two, since some faults need more than one text.
HARMLESS = ("a short text", "another short text")


class TextsRefused(ProviderError):
    """The model refused these texts; the vectors of all others were made."""

    def __init__(self, count: int, reason: str) -> None:
        memories = "1 memory was" if count == 1 else f"{count} memories were"
        super().__init__(
            f"{memories} refused by the embedding model and can be found by words alone: {reason}",
            transient=False,
        )
        self.count = count


def embed_waiting(
    vectors: VectorIndex,
    embedder: Embedder,
    *,
    progress: Callable[[int], None] = lambda done: None,
    stop: Callable[[], bool] = lambda: False,
) -> int:
    """Embed the memories that wait, oldest first, and return their number. Each batch is stored
    before the next begins.

    Stops early when `stop` returns True. Raises ProviderError when the model does not deliver: what
    was stored stays, the rest goes on waiting. Texts that the model refuses do not stop the others:
    they go on waiting, and TextsRefused is raised at the end with their number.
    """
    done = 0
    refused: dict[int, str] = {}  # memory key → reason
    while not stop():
        # Refused memories still wait, and come first again.
        waiting = vectors.waiting(embedder.identity, BATCH + len(refused))
        batch = [memory for memory in waiting if memory.key not in refused][:BATCH]
        if not batch:
            break
        for part, spans, made in _embedded(embedder, batch, refused):
            keys = [key for (key, _), cuts in zip(part, spans, strict=True) for _ in cuts]
            rows = zip(keys, made, strict=True)
            flat = [span for cuts in spans for span in cuts]
            vectors.put(embedder.identity, made.shape[1], rows, dict(part), flat)
            done += len(part)
            progress(len(part))
    if refused:
        raise TextsRefused(len(refused), next(iter(refused.values())))
    return done


def _embedded(
    embedder: Embedder, batch: Sequence[Waiting], refused: dict[int, str], *, parted: bool = False
) -> Iterator[tuple[Sequence[Waiting], list[list[Span]], Matrix]]:
    """The batch, the passages of each text, and a vector for each passage. A batch that the model
    refuses is halved again and again, down to the single texts that it refuses.

    A transient failure, or one that has nothing to do with the texts, is raised.
    """
    try:
        spans = [passages(embedder, text) for _, text in batch]
        made = embedder.documents(
            [
                text[span.start : span.end]
                for (_, text), cuts in zip(batch, spans, strict=True)
                for span in cuts
            ]
        )
    except ProviderError as error:
        if error.transient:
            raise
        if not parted:
            embedder.documents(HARMLESS)
        if len(batch) == 1:
            refused[batch[0].key] = str(error)
            return
        middle = len(batch) // 2
        for half in (batch[:middle], batch[middle:]):
            yield from _embedded(embedder, half, refused, parted=True)
    else:
        yield batch, spans, made


def passages(embedder: Embedder, text: str) -> list[Span]:
    """The passages of a text for this model; the whole text where the model knows no window."""
    return embedder.windows(text) if isinstance(embedder, Windowed) else [Span(0, len(text))]


class BackgroundEmbedding:
    """Embeds waiting memories in its own thread, so that no save waits for a remote model.

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
        """Begin a round, unless one is running: then it continues with what is new."""
        with self._guard:
            self._again = True
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, daemon=True)
                self._thread.start()

    def close(self, patience_s: float) -> None:
        """Let the running round finish, but wait no longer than `patience_s` seconds."""
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
            except RecollectError as error:  # no model or no vault at the moment; the save is kept
                self.failure = str(error)
