"""Lifetimes of processes, and background tasks, run after the response in long-lived ones."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from enum import Enum

from recollect.errors import RecollectError

# Takes a function that says whether to stop, because the vault is about to be closed.
Task = Callable[[Callable[[], bool]], None]


class Lifetime(Enum):
    """The time for which a process will use a vault."""

    ONCE = "once"  # a command: it embeds what it saved, and prepares nothing for later
    LIBRARY = "library"  # a program: tasks run at once, and only vectors are made in a thread
    SERVER = "server"  # long-lived: it keeps caches, and does what other processes left undone


class BackgroundTasks:
    """Runs one task at a time in a thread, or in a library at once. A task that comes while another
    is running is dropped, so the vault must remember that it is due. Closing stops the running
    task; a command waits for it.
    """

    def __init__(self, lifetime: Lifetime) -> None:
        self._lifetime = lifetime
        self._free = threading.Lock()
        self.closing = False

    def run(self, task: Task) -> None:
        if self._lifetime is Lifetime.LIBRARY:
            self._run(task)
        elif not self.closing and self._free.acquire(blocking=False):
            thread = threading.Thread(target=self._run, args=(task, self._free.release))
            thread.name, thread.daemon = "recollect-task", True  # an unfinished task is repeated
            thread.start()

    def _run(self, task: Task, done: Callable[[], None] = lambda: None) -> None:
        try:
            with suppress(RecollectError):  # it is repeated later
                task(lambda: self.closing and self._lifetime is not Lifetime.ONCE)
        finally:
            done()

    def close(self) -> None:
        """Wait until the running task has ended, while the vault is still open."""
        self.closing = True
        with self._free:
            pass
