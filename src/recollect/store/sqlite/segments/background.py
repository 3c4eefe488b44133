"""When to merge: beside everything else in a process that stays, in any other at its end."""

from __future__ import annotations

import threading
from contextlib import suppress

from recollect.errors import StoreError
from recollect.lifetime import Lifetime
from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.segments import buffer

ENDING_S = 2.0  # how long closing waits for the thread to notice; a merge may end at any point


class BackgroundMerging:
    """Merges when the buffer is full. A command merges when it closes the vault, and only a little.
    What fails is done by the next one."""

    def __init__(self, database: Database, *, lifetime: Lifetime) -> None:
        self._database = database
        self._once = lifetime is Lifetime.ONCE
        self._due = False
        self._segments = False  # whether some were made that may be joined
        self._closing = False
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None

    def wrote(self, *, segments: bool = False) -> None:
        """Look whether there is something to do; somebody has written, perhaps segments. Those are
        joined after the next write without any: an import that goes on would wait for it."""
        with self._database.translated():
            full = buffer.is_full(self._database.connection())
        self._segments |= segments
        self._due = full or self._segments
        if not segments and self._due and not self._once:
            self._start()

    def resume(self) -> None:
        """Merge what processes that have ended left: an import joins none of its segments."""
        with self._database.translated():
            connection = self._database.connection()
            if buffer.is_alone(connection) and not buffer.is_full(connection):
                return
        self._start()

    def _start(self) -> None:
        with self._guard:
            if not self._closing and (self._thread is None or not self._thread.is_alive()):
                self._segments = False
                work = self._merge
                self._thread = threading.Thread(target=work, name="recollect-merge", daemon=True)
                self._thread.start()

    def _merge(self) -> None:
        from recollect.store.sqlite.segments.merging import Merger  # noqa: PLC0415  start-up time

        with suppress(StoreError):
            Merger(self._database, lambda: self._closing).run(briefly=self._once)

    def close(self) -> None:
        if self._once and self._due:
            self._merge()
        with self._guard:
            self._closing = True
        if self._thread is not None:
            self._thread.join(ENDING_S)
