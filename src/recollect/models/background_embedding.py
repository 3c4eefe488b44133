"""Vectors made beside everything else: a save waits for none but its own, and only where that is
quick."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import NamedTuple

from recollect.deadline import Deadline
from recollect.errors import RecollectError
from recollect.lifetime import Lifetime
from recollect.models.base import Embedder, Immediate
from recollect.models.embedding_queue import Batches, TextsRefused
from recollect.retry import without_waiting
from recollect.store.base import VectorIndex
from recollect.types import Memory

# Characters of a save whose vectors come before all others: about a passage of the built-in model,
# a quarter of a second.
SHORT = 2_000
# As many characters may be ahead of all others at a time: closing waits for them.
MOST_OWN = 10_000
# How long a search and closing wait for a model of this process: it is loaded and reads a few short
# texts, and that on a busy machine.
LOCAL_PATIENCE_S = 15.0
# How long closing waits for a remote model, which may hang.
REMOTE_PATIENCE_S = 1.0
# How long closing waits for the thread to notice: a model of this process gives up at once.
ENDING_S = 2.0
# How often a process that stays looks whether another one has left something to do.
LOOK_S = 2.0
# How soon a process that stays asks a model again that failed.
RETRY_S = 60.0
# Between two turns another process can take its own; a turn is short enough for what it has saved.
PAUSE_S = 0.1
TURN_S = 5.0
# How often a process that stays tells how far it is.
TELL_S = 30.0


def text_size(memories: Sequence[Memory]) -> int:
    """How many characters of these memories are embedded."""
    return sum(len(memory.title) + len(memory.text) + len(memory.context) for memory in memories)


class OwnSave(NamedTuple):
    """A short save of this process whose vectors are still to be made."""

    vectors: VectorIndex
    ids: Sequence[str]
    size: int


class EmbeddingLog:
    """Tells the logger `recollect` how many memories have their vector, and the time left."""

    def __init__(self, vectors: VectorIndex, identity: str) -> None:
        self._vectors = vectors
        self._identity = identity
        self._start = self._told = time.monotonic()
        self._done = 0

    def add(self, done: int) -> None:
        """So many more are stored."""
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
    """Makes the vectors that wait in a thread of its own, which ends with the process.

    What waits is in the vault: a failure or the end of the process loses nothing, and another
    process may go on.
    """

    def __init__(
        self,
        embedder: Callable[[], Embedder],
        lifetime: Lifetime = Lifetime.LIBRARY,
        *,
        changed: Callable[[], bool] = lambda: False,
    ) -> None:
        """A command embeds only the short texts that it saves. A server also takes what others
        leave waiting; `changed`: whether somebody has written since it was last asked."""
        self.embedder = embedder
        self.failure: str | None = None
        self._lifetime = lifetime
        self._changed = changed if lifetime is Lifetime.SERVER else None
        self._news = threading.Condition()
        self._refused: dict[VectorIndex, dict[int, str]] = {}  # for each vault that is followed
        self._own: list[OwnSave] = []
        self._local = False
        self._awake = False
        self._closing = False
        self._thread: threading.Thread | None = None

    def saved(self, vectors: VectorIndex, memories: Sequence[Memory]) -> None:
        """Take care of the vectors of memories that are durable by now. Their own are made before
        this returns where the model is loaded and the texts are few and short; everything else is
        left to the thread."""
        save = OwnSave(vectors, [memory.id for memory in memories], text_size(memories))
        own: Sequence[OwnSave] = ()
        if save.size <= SHORT:
            try:
                own = () if self._at_once(save) else (save,)
            except RecollectError as error:  # the save is kept, and its vector waits
                self.failure = str(error)
            else:
                if not own and self._thread is not None:
                    return
        self.wake(vectors, own)

    def _at_once(self, save: OwnSave) -> bool:
        """Embed these memories now if that is quick; return whether none of them waits."""
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
        """Let the thread look for what waits in this vault, what is `own` first."""
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
        """From now on also take what others leave waiting in this vault."""
        with self._news:
            self._refused[vectors] = {}  # what was refused may be another text by now
            if self._thread is None and not self._closing:
                work = self._work
                self._thread = threading.Thread(target=work, name="recollect-embed", daemon=True)
                self._thread.start()

    def settle(self, deadline: Deadline) -> None:
        """Wait for the vectors of the short texts that were saved here just before, where a model
        of this process makes them: a search finds by meaning what was saved before it."""
        if self._own and self._local:
            with self._news:
                self._news.wait_for(lambda: not self._own, deadline.within(LOCAL_PATIENCE_S))

    def stop(self) -> None:
        """Finish the short texts that were saved last, and no others: they go on waiting in the
        vault."""
        with self._news:
            patience_s = LOCAL_PATIENCE_S if self._local else REMOTE_PATIENCE_S
            self._news.wait_for(lambda: not self._own, patience_s)
            self._closing = True
            self._news.notify_all()

    def close(self) -> None:
        """Let the thread end, so that it finds the vault open as long as it needs it. A remote
        model that hangs is not waited for."""
        if self._thread is not None:
            self._thread.join(ENDING_S if self._local else 0.1)

    # In the thread

    def _work(self) -> None:
        try:
            while self._awaited():
                self._round()
        finally:
            self._finished(self._own)

    def _round(self) -> None:
        self.failure = None
        try:
            for vectors, refused in tuple(self._refused.items()):
                self._embed(vectors, refused)
                if refused:
                    self.failure = str(TextsRefused(len(refused), next(iter(refused.values()))))
        except RecollectError as error:  # no model or no vault at the moment
            self.failure = str(error)
            self._finished(self._own)

    def _awaited(self) -> bool:
        """Wait for something to do; False at the end."""
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
        """Embed what waits in this vault, what was saved here first. All else only while no other
        process does."""

        def own_first() -> None:
            for save in [save for save in self._own if save.vectors is vectors]:
                while not self._closing and batches.embed(save.ids):
                    pass
                self._finished([save])

        def stop() -> bool:
            return self._closing

        def turn() -> bool:
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
                more = not free or turn()
            with self._news:
                self._news.wait_for(lambda: self._closing or bool(self._own), PAUSE_S * more)

    def _finished(self, own: Sequence[OwnSave]) -> None:
        with self._news:
            self._own = [save for save in self._own if save not in own]
            self._news.notify_all()
