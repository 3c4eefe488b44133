"""The threads that use a vault: how many there are, and one that must be alone for a moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """Threads enter and leave, one inside the other if need be. Nobody enters while `lock` is held
    or while a thread is `alone`."""

    def __init__(self) -> None:
        self.lock = threading.Condition(threading.Lock())
        self._inside = 0
        self._taken = False
        self._left_at = time.monotonic()
        self._local = threading.local()

    def enter(self) -> bool:
        """Go in; returns whether this thread was outside until now."""
        depth: int = getattr(self._local, "depth", 0)
        if depth == 0:
            with self.lock:
                while self._taken:
                    self.lock.wait()
                self._inside += 1
        self._local.depth = depth + 1
        return depth == 0

    def leave(self, *, counts: bool = True) -> None:
        """Go out; what does not count leaves `idle` as it was."""
        self._local.depth -= 1
        if self._local.depth == 0:
            with self.lock:
                self._inside -= 1
                if counts:
                    self._left_at = time.monotonic()
                if self._taken:
                    self.lock.notify_all()

    def idle(self, seconds: float) -> bool:
        """Whether nobody is inside and nobody was for so long; `lock` is held."""
        return not self._inside and time.monotonic() - self._left_at >= seconds

    @contextmanager
    def alone(self, seconds: float) -> Iterator[bool]:
        """Wait until no other thread is inside; TimeoutError where one stays for longer than
        `seconds`. It gives False where another thread has just been alone instead."""
        with self.lock:
            first = not self._taken
            if first:
                self._taken = True
                if not self.lock.wait_for(lambda: self._inside == 1, seconds):
                    self._release()
                    raise TimeoutError
            else:
                self._inside -= 1
                self.lock.notify_all()
                self.lock.wait_for(lambda: not self._taken)
                self._inside += 1
        try:
            yield first
        finally:
            if first:
                with self.lock:
                    self._release()

    def _release(self) -> None:
        self._taken = False
        self.lock.notify_all()
