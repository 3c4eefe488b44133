"""Connections to a database that are kept open between uses, shared by all vaults of a process."""

from __future__ import annotations

import os
import threading
from typing import Any

import psycopg

from recollect.store.postgres.errors import as_store_errors, place_of

Connection = psycopg.Connection[tuple[Any, ...]]
CONNECT_SECONDS = 10


class Pool:
    """Those of one URL. Its users count themselves in and out; the last one closes them."""

    def __init__(self, url: str) -> None:
        self.place = place_of(url)
        self._url = url
        self._idle: list[Connection] = []
        self._guard = threading.Lock()
        self.users = 0

    def take(self, *, fresh: bool = False) -> Connection:
        """A connection that nobody uses. A `fresh` one is made now: of the others, some may have
        been cut off without notice, so they are closed."""
        with self._guard:
            if fresh:
                self._close()
            elif self._idle:
                return self._idle.pop()
        # Autocommit: transactions are begun by statements, together with their settings. Nothing
        # is prepared: a pooler between us and the database may give each one another connection.
        return psycopg.connect(
            self._url,
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=CONNECT_SECONDS,
            application_name="recollect",
        )

    def give(self, connection: Connection) -> None:
        """Have a connection back; one that is not at rest is closed."""
        with self._guard:
            if self.users and connection.info.transaction_status.name == "IDLE":
                self._idle.append(connection)
                return
        connection.close()

    def leave(self) -> None:
        with _guard:
            self.users -= 1
            if not self.users:
                _pools.pop(self._url, None)
                with self._guard:
                    self._close()

    def _close(self) -> None:
        while self._idle:
            self._idle.pop().close()


_pools: dict[str, Pool] = {}
_guard = threading.Lock()
_parents: list[Pool] = []  # never closed here: the connections are the parent process's


def pool_of(url: str) -> Pool:
    """The connections of this process to a URL, with one more user."""
    with _guard, as_store_errors(""):
        pool = _pools.get(url) or _pools.setdefault(url, Pool(url))
        pool.users += 1
        return pool


def _forked() -> None:
    _parents.extend(_pools.values())
    _pools.clear()


os.register_at_fork(after_in_child=_forked)
