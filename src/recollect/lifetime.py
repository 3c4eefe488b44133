"""How long a process will use a vault, and work that nobody waits for: done when the answer is out,
where the process stays."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from enum import Enum

from recollect.errors import RecollectError

# Takes a function that says whether to stop: the vault is about to be closed.
Work = Callable[[Callable[[], bool]], None]


class Lifetime(Enum):
    ONCE = "once"  # a command: nothing is prepared for later, and what was saved is embedded
    LIBRARY = "library"  # a program: work is done at once, and only vectors in a thread
    SERVER = "server"  # stays: it keeps caches, and takes what other processes left


class LateWork:
    """One piece of work at a time, in a thread of its own; in a library at once. What comes
    while another piece is under way is left out: the vault must tell later that it is to be done.
    Closing stops what is under way; a command waits for it.
    """

    def __init__(self, lifetime: Lifetime) -> None:
        self._lifetime = lifetime
        self._free = threading.Lock()
        self.closing = False

    def do(self, work: Work) -> None:
        if self._lifetime is Lifetime.LIBRARY:
            self._done(work)
        elif not self.closing and self._free.acquire(blocking=False):
            thread = threading.Thread(target=self._last, args=(work,), name="recollect-late")
            thread.daemon = True  # what is left then is done another time
            thread.start()

    def _last(self, work: Work) -> None:
        try:
            self._done(work)
        finally:
            self._free.release()

    def _done(self, work: Work) -> None:
        with suppress(RecollectError):  # it can be made up for
            work(lambda: self.closing and self._lifetime is not Lifetime.ONCE)

    def close(self) -> None:
        """Wait until what is under way has ended, so that it finds the vault open."""
        self.closing = True
        with self._free:
            pass
