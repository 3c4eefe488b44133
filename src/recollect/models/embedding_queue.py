"""The embedding queue: embed memories that have no vector of the active model, the smallest first,
in batches that fit into memory and take a second or two."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING

from recollect.errors import ProviderError
from recollect.maths import batched
from recollect.models.base import Embedder, Tokenwise, Windowed
from recollect.store.base import MOST_TOKENWISE, EmbeddedText, VectorIndex, WaitingMemory
from recollect.store.feedback import StoredFeedback
from recollect.types import Span

if TYPE_CHECKING:  # exists for type checkers only
    from recollect.models.base import Matrix

    Embedded = tuple[Matrix, list[bytes]]

# Source: the `vault` recipe, "Vectors": embedded in batches of 100.
BATCH = 100
# Bytes of text per call of a model: the built-in one takes a second or two for them.
BATCH_SIZE = 50_000
# Interval at which to look whether the process that embeds has ended.
LOOK_S = 0.05
# No model refuses these texts; two, since some faults need more than one.
HARMLESS = ("a short text", "another short text")


class TextsRefused(ProviderError):
    """The model refused these texts; all others were embedded."""

    def __init__(self, count: int, reason: str) -> None:
        memories = "1 memory was" if count == 1 else f"{count} memories were"
        super().__init__(
            f"{memories} refused by the embedding model and can be found by words alone: {reason}",
            transient=False,
        )
        self.count = count


class Stopped(Exception):
    """Work on a long text was stopped."""


def embed_waiting(
    vectors: VectorIndex,
    embedder: Embedder,
    *,
    progress: Callable[[int], None] = lambda done: None,
    stop: Callable[[], bool] = lambda: False,
) -> int:
    """Embed the waiting memories and return their number. Each batch is stored before the next
    begins. While another process embeds, this one waits.

    Stops early when `stop` returns True. Raises ProviderError if the model fails: what was stored
    stays, the rest goes on waiting. Texts that the model refuses go on waiting too, and
    TextsRefused is raised at the end with their number.
    """
    batches = Batches(vectors, embedder, progress=progress, stop=stop)
    with _wait_for_lease(vectors, stop):
        while not stop() and batches.embed():
            pass
    if batches.refused:
        raise TextsRefused(len(batches.refused), next(iter(batches.refused.values())))
    return batches.done


def embed_again(
    vectors: VectorIndex,
    embedder: Embedder,
    *,
    everything: bool,
    progress: Callable[[int], None] = lambda done: None,
) -> int:
    """Embed memories again, all or those whose tokens are missing or damaged; return their number.
    Each keeps its former vectors until the new ones are stored."""
    batches = Batches(vectors, embedder, progress=progress)
    if everything or isinstance(embedder, Tokenwise):
        with _wait_for_lease(vectors, lambda: False):
            for batch in batched(
                (
                    WaitingMemory(one.key, one.text)
                    for one in every_embedded(vectors, embedder.identity)
                    if everything or not one.has_tokens
                ),
                BATCH,
                lambda one: _size(one.text),
                BATCH_SIZE,
            ):
                batches.embed_batch(batch)
    return batches.done


def every_embedded(vectors: VectorIndex, identity: str) -> Iterator[EmbeddedText]:
    """Yield every live memory with a vector of this model."""
    last = 0
    while page := vectors.list_embedded(identity, last, BATCH):
        yield from page
        last = page[-1].key


def embed_queries(log: StoredFeedback, embedder: Embedder) -> bool:
    """Embed a batch of queries with feedback that have no vector; return False if there are
    none."""
    waiting = log.list_unembedded(embedder.identity, BATCH)
    if waiting:
        made = embedder.queries([*waiting.values()])
        log.embed(embedder.identity, dict(zip(waiting, made, strict=True)))
    return bool(waiting)


@contextmanager
def _wait_for_lease(vectors: VectorIndex, stop: Callable[[], bool]) -> Iterator[None]:
    """Wait until no other process embeds, or until `stop` returns True."""
    while True:
        with vectors.lease() as free:
            if free or stop():
                yield
                return
        time.sleep(LOOK_S)


class Batches:
    """Embeds the waiting memories of a vault, batch by batch.

    refused: why the model refused a memory's text, by its key; such texts are not tried again.
    between: called while a long text is under way, for what is urgent.
    """

    def __init__(
        self,
        vectors: VectorIndex,
        embedder: Embedder,
        *,
        progress: Callable[[int], None] = lambda done: None,
        stop: Callable[[], bool] = lambda: False,
        between: Callable[[], object] = lambda: None,
        refused: dict[int, str] | None = None,
    ) -> None:
        self.done = 0
        self.refused = {} if refused is None else refused
        self._vectors = vectors
        self._embedder = embedder
        self._progress = progress
        self._stop = stop
        self._between = between
        self._long: int | None = None  # the key of the long text under way

    def embed(self, among: Sequence[str] | None = None) -> bool:
        """Embed and store the smallest waiting memories, of all or of those `among`; return False
        if there are none."""
        without = self.refused.keys() if self._long is None else {*self.refused, self._long}
        batch = self._vectors.waiting(
            self._embedder.identity, BATCH, size=BATCH_SIZE, among=among, without=without
        )
        # A second long text waits until the first is done: one at a time is in memory.
        if not batch or (self._long is not None and _size(batch[0].text) > BATCH_SIZE):
            return False
        return self.embed_batch(batch)

    def embed_batch(self, batch: Sequence[WaitingMemory]) -> bool:
        """Embed and store these; return False if stopped before."""
        try:
            for part, spans, made in self._embed_parts(batch):
                if self._stop():
                    return False
                self._put(part, spans, *made)
        except Stopped:
            return False
        return True

    def _put(
        self,
        part: Sequence[WaitingMemory],
        spans: list[list[Span]],
        made: Matrix,
        tokens: Sequence[bytes],
    ) -> None:
        keys = [key for (key, _), cuts in zip(part, spans, strict=True) for _ in cuts]
        rows = zip(keys, made, strict=True)
        flat = [span for cuts in spans for span in cuts]
        self._vectors.put(
            self._embedder.identity, made.shape[1], rows, dict(part), flat, tokens=tokens,
        )  # fmt: skip
        self.done += len(part)
        self._progress(len(part))

    def _embed_parts(
        self, batch: Sequence[WaitingMemory], *, parted: bool = False
    ) -> Iterator[tuple[Sequence[WaitingMemory], list[list[Span]], Embedded]]:
        """Yield the batch with the passages of each text, and the model's output for each passage.

        A batch that the model refuses is halved down to the single texts that it refuses. A
        transient failure, or one that has nothing to do with the texts, is raised.
        """
        try:
            spans = [passages(self._embedder, text) for _, text in batch]
            made = self._embed_passages(batch, spans)
        except ProviderError as error:
            if error.transient:
                raise
            if not parted:
                self._embedder.documents(HARMLESS)
            if len(batch) == 1:
                self.refused[batch[0].key] = str(error)
                return
            middle = len(batch) // 2
            for half in (batch[:middle], batch[middle:]):
                yield from self._embed_parts(half, parted=True)
        else:
            yield batch, spans, made

    def _embed_passages(self, batch: Sequence[WaitingMemory], spans: list[list[Span]]) -> Embedded:
        """Return the vectors of all passages, and their tokens. A long text is embedded in groups,
        with smaller texts in between."""
        texts = [
            text[span.start : span.end]
            for (_, text), cuts in zip(batch, spans, strict=True)
            for span in cuts
        ]
        if len(batch) > 1 or _size(batch[0].text) <= BATCH_SIZE:
            return embed_texts(self._embedder, texts)
        import numpy as np  # noqa: PLC0415  start-up time

        self._long = batch[0].key
        try:
            made, tokens = zip(*self._by_groups(texts), strict=True)
            return np.concatenate(made), [*chain.from_iterable(tokens)][:MOST_TOKENWISE]
        finally:
            self._long = None

    def _by_groups(self, texts: Sequence[str]) -> Iterator[Embedded]:
        group: list[str] = []
        left = BATCH_SIZE
        for text in texts:
            if group and left < _size(text):
                yield embed_texts(self._embedder, group)
                self._let_others_pass()
                group, left = [], BATCH_SIZE
            group.append(text)
            left -= _size(text)
        yield embed_texts(self._embedder, group)

    def _let_others_pass(self) -> None:
        self._between()
        while not self._stop() and self.embed():
            pass
        if self._stop():
            raise Stopped


def embed_texts(embedder: Embedder, texts: Sequence[str]) -> Embedded:
    """Return the vectors of texts, and the packed tokens of each if the model has any."""
    if isinstance(embedder, Tokenwise):
        return embedder.tokenwise(texts)
    return embedder.documents(texts), []


def passages(embedder: Embedder, text: str) -> list[Span]:
    """Return the passages of a text for this model: the whole text if the model has no window."""
    return embedder.windows(text) if isinstance(embedder, Windowed) else [Span(0, len(text))]


def _size(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))
