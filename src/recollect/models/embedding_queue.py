"""The embedding pipeline: memories without a vector of the active model get one, in batches."""

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
# No model refuses these for what they say; there are two, since some faults need company.
HARMLESS = ("a short text", "another short text")


class TextsRefused(ProviderError):
    """The model takes texts, but not these: every other vector was made."""

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
    """Embed what waits, oldest first; each batch is kept before the next is begun.

    Stops early when `stop` says so. Raises ProviderError when the model does not deliver: what was
    kept stays, the rest goes on waiting. Texts that the model refuses hold up no others: they go
    on waiting, and TextsRefused says at the end how many they were.
    """
    done = 0
    refused: dict[int, str] = {}  # memory key → reason
    while not stop():
        # The refused still wait, and come first again.
        held = vectors.waiting(embedder.identity, BATCH + len(refused))
        batch = [one for one in held if one.key not in refused][:BATCH]
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
    """The batch, the passages of each text, and a vector for each passage; a batch that the model
    refuses in halves, and halves of those, down to the texts that it refuses alone.

    A failure that may pass, or that has nothing to do with the texts, is raised.
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
    """Where to cut a text for this model; one that knows no window takes it whole."""
    return embedder.windows(text) if isinstance(embedder, Windowed) else [Span(0, len(text))]


class BackgroundEmbedding:
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
