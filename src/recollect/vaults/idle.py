"""A process that stays lets go of a locked vault that nobody asks.

Closing it and dropping the key is all that can be done from within: what was read stays in memory
that Python has freed but not cleared. `sealed` is called then; a server starts anew (see
`interfaces/server_processes.py`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from recollect.store.sqlite.store import SqliteStore

MOST_S = 5.0  # between two looks: the key is held no longer than that beyond its time


class IdleLock:
    """Looks now and then, in a thread of its own, until it is closed."""

    def __init__(self, store: SqliteStore, idle_s: float, sealed: Callable[[], None]) -> None:
        self._store = store
        self._idle_s = idle_s
        self._sealed = sealed
        self._over = threading.Event()
        threading.Thread(target=self._watch, name="recollect-idle", daemon=True).start()

    def _watch(self) -> None:
        while not self._over.wait(min(MOST_S, self._idle_s / 4)):
            if self._store.seal(self._idle_s):
                self._sealed()

    def close(self) -> None:
        self._over.set()


def idle_lock(
    store: SqliteStore, minutes: float, sealed: Callable[[], None] = lambda: None
) -> IdleLock | None:
    """For a vault that is locked and a time that is set; else there is nothing to let go of."""
    locked = store.database.locked or store.database.at_rest
    return IdleLock(store, minutes * 60, sealed) if minutes and locked else None
