"""When to merge: beside everything else in a process that stays, in any other at its end."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from recollect.errors import StoreError
from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.segments import buffer

if TYPE_CHECKING:
    from recollect.store.sqlite.segments.merging import Merger

ENDING_S = 2.0  # how long closing waits for the thread to notice; a merge may end at any point


class BackgroundMerging:
    """Merges when the buffer is full. `brief`: this process ends soon, so it merges when it closes
    the vault, and only a little. What fails is done by the next one."""

    def __init__(self, database: Database, *, brief: bool) -> None:
        self._database = database
        self._brief = brief
        self._full = False
        self._closing = False
        self._guard = threading.Lock()
        self._thread: threading.Thread | None = None

    def wrote(self) -> None:
        """Look whether there is something to do; somebody has written."""
        with self._database.translated():
            self._full = buffer.is_full(self._database.connection())
        if not self._full or self._brief:
            return
        with self._guard:
            if not self._closing and (self._thread is None or not self._thread.is_alive()):
                work = self._merge
                self._thread = threading.Thread(target=work, name="recollect-merge", daemon=True)
                self._thread.start()

    def merge(self) -> None:
        """Merge all that there is to merge, here and now: an import is over."""
        with self._database.translated():
            connection = self._database.connection()
            segments = connection.execute("SELECT 1 FROM segments LIMIT 1").get
            self._full = buffer.is_full(connection)
        if segments or self._full:
            self._merger().run()
            self._full = False

    def _merge(self) -> None:
        with suppress(StoreError):
            self._merger().run(briefly=self._brief)

    def _merger(self) -> Merger:
        from recollect.store.sqlite.segments.merging import Merger  # noqa: PLC0415  start-up time

        return Merger(self._database, lambda: self._closing)

    def close(self) -> None:
        if self._brief and self._full:
            self._merge()
        with self._guard:
            self._closing = True
        if self._thread is not None:
            self._thread.join(ENDING_S)
