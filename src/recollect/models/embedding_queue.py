"""The embedding queue: memories without a vector of the active model get one, the smallest first,
so much text at a time as fits into memory and a second or two."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING

from recollect.errors import ProviderError
from recollect.maths import parts
from recollect.models.base import Embedder, Tokenwise, Windowed
from recollect.store.base import MOST_TOKENWISE, EmbeddedText, VectorIndex, Waiting
from recollect.store.feedback_log import StoredFeedback
from recollect.types import Span

if TYPE_CHECKING:  # exists for type checkers only
    from recollect.models.base import Matrix

    Embedded = tuple[Matrix, list[bytes]]

# Source: the `vault` recipe, "Vectors": embedded in batches of 100.
BATCH = 100
# What a model gets at once has no more characters, however many texts wait and however long they
# are: the built-in one takes a second or two for them.
BATCH_SIZE = 50_000
# How often to look whether the process that embeds has ended.
LOOK_S = 0.05
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


class Stopped(Exception):
    """Ends work on a long text that nobody waits for any more."""


def embed_waiting(
    vectors: VectorIndex,
    embedder: Embedder,
    *,
    progress: Callable[[int], None] = lambda done: None,
    stop: Callable[[], bool] = lambda: False,
) -> int:
    """Embed the memories that wait and return their number. Each batch is stored before the next
    begins. While another process embeds, this one waits for its turn.

    Stops early when `stop` returns True. Raises ProviderError when the model does not deliver: what
    was stored stays, the rest goes on waiting. Texts that the model refuses do not stop the others:
    they go on waiting, and TextsRefused is raised at the end with their number.
    """
    batches = Batches(vectors, embedder, progress=progress, stop=stop)
    with _turn(vectors, stop):
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
    """Make vectors anew: all, or those whose tokens are missing or damaged; return of how many
    memories. Each keeps its former vectors until the new ones are stored."""
    batches = Batches(vectors, embedder, progress=progress)
    if everything or isinstance(embedder, Tokenwise):
        with _turn(vectors, lambda: False):
            for batch in parts(
                (
                    Waiting(one.key, one.text)
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
    while page := vectors.embedded(identity, last, BATCH):
        yield from page
        last = page[-1].key


def embed_queries(log: StoredFeedback, embedder: Embedder) -> bool:
    """Embed the queries that there is feedback on, a batch of those without a vector; returns
    whether there were any."""
    waiting = log.unembedded(embedder.identity, BATCH)
    if waiting:
        made = embedder.queries([*waiting.values()])
        log.embed(embedder.identity, dict(zip(waiting, made, strict=True)))
    return bool(waiting)


@contextmanager
def _turn(vectors: VectorIndex, stop: Callable[[], bool]) -> Iterator[None]:
    """Wait until no other process embeds; `stop` ends the wait, too."""
    while True:
        with vectors.lease() as free:
            if free or stop():
                yield
                return
        time.sleep(LOOK_S)


class Batches:
    """What waits in one vault, batch by batch. `refused`: why the model refused a memory's text, by
    the memory's key; it is not asked again. `between` is called while a long text is under way, so
    that what is urgent need not wait for it."""

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
        """Embed and store the smallest that wait, or those of the memories `among` that do; return
        whether there were any."""
        without = self.refused.keys() if self._long is None else {*self.refused, self._long}
        batch = self._vectors.waiting(
            self._embedder.identity, BATCH, size=BATCH_SIZE, among=among, without=without
        )
        # A second long text waits until the first is done: one at a time is in memory.
        if not batch or (self._long is not None and _size(batch[0].text) > BATCH_SIZE):
            return False
        return self.embed_batch(batch)

    def embed_batch(self, batch: Sequence[Waiting]) -> bool:
        """Embed and store these; False where it was stopped first."""
        try:
            for part, spans, made in self._embedded(batch):
                if self._stop():
                    return False
                self._put(part, spans, *made)
        except Stopped:
            return False
        return True

    def _put(
        self,
        part: Sequence[Waiting],
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

    def _embedded(
        self, batch: Sequence[Waiting], *, parted: bool = False
    ) -> Iterator[tuple[Sequence[Waiting], list[list[Span]], Embedded]]:
        """The batch, the passages of each text, and what the model gives for each passage. A batch
        that the model refuses is halved again and again, down to the single texts that it refuses.

        A transient failure, or one that has nothing to do with the texts, is raised.
        """
        try:
            spans = [passages(self._embedder, text) for _, text in batch]
            made = self._made(batch, spans)
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
                yield from self._embedded(half, parted=True)
        else:
            yield batch, spans, made

    def _made(self, batch: Sequence[Waiting], spans: list[list[Span]]) -> Embedded:
        """The vectors of all passages, and their tokens. Those of a long text are made in groups,
        and what is smaller goes in between."""
        texts = [
            text[span.start : span.end]
            for (_, text), cuts in zip(batch, spans, strict=True)
            for span in cuts
        ]
        if len(batch) > 1 or _size(batch[0].text) <= BATCH_SIZE:
            return embedded(self._embedder, texts)
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
                yield embedded(self._embedder, group)
                self._let_others_pass()
                group, left = [], BATCH_SIZE
            group.append(text)
            left -= _size(text)
        yield embedded(self._embedder, group)

    def _let_others_pass(self) -> None:
        self._between()
        while not self._stop() and self.embed():
            pass
        if self._stop():
            raise Stopped


def embedded(embedder: Embedder, texts: Sequence[str]) -> Embedded:
    """The vectors of texts, and the packed tokens of each; no tokens of a model that has none."""
    if isinstance(embedder, Tokenwise):
        return embedder.tokenwise(texts)
    return embedder.documents(texts), []


def passages(embedder: Embedder, text: str) -> list[Span]:
    """The passages of a text for this model; the whole text where the model knows no window."""
    return embedder.windows(text) if isinstance(embedder, Windowed) else [Span(0, len(text))]


def _size(text: str) -> int:
    return len(text.encode(errors="surrogatepass"))
