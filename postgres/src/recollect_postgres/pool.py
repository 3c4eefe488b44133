"""Connections to a database that are kept open between uses, shared by all vaults of a process."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

import psycopg
from psycopg.conninfo import conninfo_to_dict

from recollect_postgres.errors import as_store_errors, is_passing, place_of

# It warns of each connection that is lost; who asked is told so by an error.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

Connection = psycopg.Connection[tuple[Any, ...]]
Made = TypeVar("Made")
# What a URL may say otherwise. A machine that is gone without a word is noticed in 10 seconds,
# while others agree on a new primary: so a write's deadline is not over before there is one.
LIBPQ = {
    "connect_timeout": 5, "application_name": "recollect", "keepalives_idle": 4,
    "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 10_000,
}  # fmt: skip
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 1.0  # between two tries to connect


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
        options: dict[str, Any] = LIBPQ | conninfo_to_dict(self._url)
        return psycopg.connect(autocommit=True, prepare_threshold=None, **options)

    def reached(
        self, use: Callable[[Connection], Made], retry: Callable[[psycopg.Error], bool]
    ) -> tuple[Connection, Made]:
        """A connection, and what `use` made with it: one that is kept or, should it have been cut
        off, a fresh one; and while that fails and `retry` says so, others."""
        fresh, pause = False, FIRST_PAUSE_S
        while True:
            connection = None
            try:
                connection = self.take(fresh=fresh)
                return connection, use(connection)
            except BaseException as error:
                if connection is not None:
                    self.give(connection)
                if not isinstance(error, psycopg.Error) or not is_passing(error):
                    raise
                if fresh or connection is None:
                    if not retry(error):
                        raise
                    time.sleep(pause)
                    pause = min(2 * pause, LONGEST_PAUSE_S)
            fresh = True

    def give(self, connection: Connection) -> None:
        """Have a connection back, without a transaction; one that is not at rest is closed."""
        if connection.info.transaction_status.name in ("INTRANS", "INERROR"):
            with suppress(psycopg.Error):
                connection.execute("ROLLBACK")
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
