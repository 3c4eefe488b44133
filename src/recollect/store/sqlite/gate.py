"""Counting the threads that use a vault, and letting one of them be alone for a moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """Counts threads between `enter` and `leave`, which may be nested. Threads wait at `enter`
    while `lock` is held or another thread is `alone`."""

    def __init__(self) -> None:
        self.lock = threading.Condition(threading.Lock())
        self._inside = 0
        self._taken = False
        self._left_at = time.monotonic()
        self._local = threading.local()

    def enter(self) -> bool:
        """Enter; return True if this thread was outside until now."""
        depth: int = getattr(self._local, "depth", 0)
        if depth == 0:
            with self.lock:
                while self._taken:
                    self.lock.wait()
                self._inside += 1
        self._local.depth = depth + 1
        return depth == 0

    def leave(self, *, counts: bool = True) -> None:
        """Leave; `counts=False` does not restart the time for `idle`."""
        self._local.depth -= 1
        if self._local.depth == 0:
            with self.lock:
                self._inside -= 1
                if counts:
                    self._left_at = time.monotonic()
                if self._taken:
                    self.lock.notify_all()

    def idle(self, seconds: float) -> bool:
        """Return True if no thread is inside, and none was for that time. Call with `lock` held."""
        return not self._inside and time.monotonic() - self._left_at >= seconds

    @contextmanager
    def alone(self, seconds: float) -> Iterator[bool]:
        """Wait until no other thread is inside; raise TimeoutError if one stays for longer than
        `seconds`. Yield False if another thread has just been alone instead."""
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
