"""Make vectors in a background thread; a save waits only for its own, and only if that is quick."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from recollect.deadline import Deadline, without_waiting
from recollect.errors import RecollectError
from recollect.lifetime import Lifetime
from recollect.models.base import Embedder, Immediate
from recollect.models.embedding_queue import Batches, TextsRefused
from recollect.store.base import VectorIndex
from recollect.types import Memory

# Characters of a save whose vectors come first: about a passage of the built-in model, a quarter of
# a second.
SHORT = 2_000
# Characters of all saves that come first: closing waits for them.
MOST_OWN = 10_000
# Wait of a search, and of closing, for a local model: it must load and read a few short texts, on a
# busy machine.
LOCAL_PATIENCE_S = 15.0
# Wait of closing for a remote model, which may hang.
REMOTE_PATIENCE_S = 1.0
# Wait of closing for the thread to end: a local model gives up at once.
ENDING_S = 2.0
# Interval at which a server looks for memories of other processes.
LOOK_S = 2.0
# Pause before a server calls a failed model again.
RETRY_S = 60.0
# A process embeds for TURN_S, then lets another one take its turn: it is short enough for what that
# one has saved.
PAUSE_S = 0.1
TURN_S = 5.0
# Interval of progress messages.
TELL_S = 30.0


def text_size(memories: Sequence[Memory]) -> int:
    """Return the number of characters of these memories that are embedded."""
    return sum(len(memory.title) + len(memory.text) + len(memory.context) for memory in memories)


class OwnSave(NamedTuple):
    """A short save of this process that still needs its vectors."""

    vectors: VectorIndex
    ids: Sequence[str]
    size: int


class EmbeddingLog:
    """Logs to `recollect` the number of embedded memories, and the time left."""

    def __init__(self, vectors: VectorIndex, identity: str) -> None:
        self._vectors = vectors
        self._identity = identity
        self._start = self._told = time.monotonic()
        self._done = 0

    def add(self, done: int) -> None:
        """Count stored memories, and log the progress from time to time."""
        self._done += done
        now = time.monotonic()
        if now - self._told >= TELL_S:
            self._told = now
            self._tell((now - self._start) / self._done)

    def _tell(self, each_s: float) -> None:
        embedded, memories = self._vectors.coverage(self._identity)
        left_s = (memories - embedded) * each_s
        left = f"{left_s / 60:,.0f} min" if left_s >= 120 else f"{left_s:.0f} s"
        how_far = f"Embedded {embedded:,} of {memories:,} memories"
        ending = f"; about {left} left" if embedded < memories else ""
        logging.getLogger("recollect").info("%s%s", how_far, ending)


class BackgroundEmbedding:
    """Makes waiting vectors in a daemon thread.

    The queue is in the vault: a failure or the end of the process loses nothing, and another
    process may go on.
    """

    def __init__(
        self,
        embedder: Callable[[], Embedder],
        lifetime: Lifetime = Lifetime.LIBRARY,
        *,
        changed: Callable[[], bool] = lambda: False,
    ) -> None:
        """A command embeds only the short texts that it saves; a server also those of others.

        changed: returns True if any process has written since the last call.
        """
        self.embedder = embedder
        self.failure: str | None = None
        self._lifetime = lifetime
        self._changed = changed if lifetime is Lifetime.SERVER else None
        self._news = threading.Condition()
        self._refused: dict[VectorIndex, dict[int, str]] = {}  # by followed vault
        self._own: list[OwnSave] = []
        self._local = False
        self._awake = False
        self._closing = False
        self._thread: threading.Thread | None = None

    def embed_saved(self, vectors: VectorIndex, memories: Sequence[Memory]) -> None:
        """Make vectors of committed memories: now if the model is loaded and the texts are few and
        short, else in the thread."""
        save = OwnSave(vectors, [memory.id for memory in memories], text_size(memories))
        own: Sequence[OwnSave] = ()
        if save.size <= SHORT:
            try:
                own = () if self._embed_at_once(save) else (save,)
            except RecollectError as error:  # the save is kept, and its vector waits
                self.failure = str(error)
            else:
                if not own and self._thread is not None:
                    return
        self.wake(vectors, own)

    def _embed_at_once(self, save: OwnSave) -> bool:
        """Embed these memories now if that is quick; return True if none of them waits."""
        embedder = self.embedder()
        self._local = embedder.local
        waiting = save.vectors.waiting(embedder.identity, len(save.ids), among=save.ids)
        if not waiting:
            return True
        texts = [text for _, text in waiting]
        if not (isinstance(embedder, Immediate) and embedder.at_once(texts)):
            return False
        with without_waiting():
            return Batches(save.vectors, embedder).embed_batch(waiting)

    def wake(self, vectors: VectorIndex, own: Sequence[OwnSave] = ()) -> None:
        """Let the thread embed what waits in this vault, its `own` saves first."""
        if self._lifetime is Lifetime.ONCE and not own:
            return
        with self._news:
            for save in own:
                if sum(other.size for other in self._own) + save.size <= MOST_OWN:
                    self._own.append(save)
            self._awake = True
            self._news.notify_all()
        self.follow(vectors)

    def follow(self, vectors: VectorIndex) -> None:
        """Start the thread, which from now on also embeds other processes' memories here."""
        with self._news:
            self._refused[vectors] = {}  # what was refused may be another text by now
            if self._thread is None and not self._closing:
                work = self._work
                self._thread = threading.Thread(target=work, name="recollect-embed", daemon=True)
                self._thread.start()

    def settle(self, deadline: Deadline) -> None:
        """Wait for a local model to embed this process's latest short saves, so that a search finds
        them by meaning."""
        if self._own and self._local:
            with self._news:
                self._news.wait_for(lambda: not self._own, deadline.within(LOCAL_PATIENCE_S))

    def stop(self) -> None:
        """Finish this process's latest short saves; everything else goes on waiting in the
        vault."""
        with self._news:
            patience_s = LOCAL_PATIENCE_S if self._local else REMOTE_PATIENCE_S
            self._news.wait_for(lambda: not self._own, patience_s)
            self._closing = True
            self._news.notify_all()

    def close(self) -> None:
        """Wait for the thread to end before the vault is closed, but not for a remote model."""
        if self._thread is not None:
            self._thread.join(ENDING_S if self._local else 0.1)

    # In the thread

    def _work(self) -> None:
        try:
            while self._wait_for_work():
                self._embed_all()
        finally:
            self._drop_saves(self._own)

    def _embed_all(self) -> None:
        self.failure = None
        try:
            for vectors, refused in tuple(self._refused.items()):
                self._embed(vectors, refused)
                if refused:
                    self.failure = str(TextsRefused(len(refused), next(iter(refused.values()))))
        except RecollectError as error:  # no model or no vault at the moment
            self.failure = str(error)
            self._drop_saves(self._own)

    def _wait_for_work(self) -> bool:
        """Wait for something to do; return False when closing."""
        retry_at = time.monotonic() + RETRY_S
        while not self._others_wrote() and not (self.failure and time.monotonic() > retry_at):
            with self._news:
                if not self._awake and not self._closing:
                    self._news.wait(None if self._changed is None else LOOK_S)
                if self._awake or self._closing:
                    break
        with self._news:
            self._awake = False
            return not self._closing

    def _others_wrote(self) -> bool:
        try:
            return self._changed is not None and self._changed()
        except RecollectError as error:
            self.failure = str(error)
            return False

    def _embed(self, vectors: VectorIndex, refused: dict[int, str]) -> None:
        """Embed what waits in this vault, this process's saves first. The rest only while no other
        process embeds."""

        def own_first() -> None:
            for save in [save for save in self._own if save.vectors is vectors]:
                while not self._closing and batches.embed(save.ids):
                    pass
                self._drop_saves([save])

        def stop() -> bool:
            return self._closing

        def embed_for_a_turn() -> bool:
            end = time.monotonic() + TURN_S
            while (more := batches.embed()) and not self._closing and time.monotonic() < end:
                own_first()
            return more

        embedder = self.embedder()
        log = EmbeddingLog(vectors, embedder.identity)
        batches = Batches(
            vectors, embedder, stop=stop, between=own_first, refused=refused, progress=log.add
        )
        more = True
        while more and not self._closing:
            own_first()
            if self._lifetime is Lifetime.ONCE:
                return
            with vectors.lease() as free:
                more = not free or embed_for_a_turn()
            with self._news:
                self._news.wait_for(lambda: self._closing or bool(self._own), PAUSE_S * more)

    def _drop_saves(self, own: Sequence[OwnSave]) -> None:
        with self._news:
            self._own = [save for save in self._own if save not in own]
            self._news.notify_all()
