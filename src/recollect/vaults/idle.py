"""A process that stays lets go of a locked vault that nobody asks."""

from __future__ import annotations

import threading

from recollect.store.sqlite.store import SqliteStore

MOST_S = 5.0  # between two looks: the key is held no longer than that beyond its time


class IdleLock:
    """Looks now and then, in a thread of its own, until it is closed."""

    def __init__(self, store: SqliteStore, idle_s: float) -> None:
        self._store = store
        self._idle_s = idle_s
        self._over = threading.Event()
        threading.Thread(target=self._watch, name="recollect-idle", daemon=True).start()

    def _watch(self) -> None:
        while not self._over.wait(min(MOST_S, self._idle_s / 4)):
            self._store.seal(self._idle_s)

    def close(self) -> None:
        self._over.set()


def idle_lock(store: SqliteStore, minutes: float) -> IdleLock | None:
    """For a vault that is locked and a time that is set; else there is nothing to let go of."""
    return IdleLock(store, minutes * 60) if minutes and store.database.locked else None
