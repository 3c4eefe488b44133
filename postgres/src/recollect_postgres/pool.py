"""Connection pools, shared by all vaults of a process; PostgreSQL's errors as sentences that say
what happened, where, and what to do."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from recollect.errors import Interrupted, StoreError

# A write waits for others as long as one to a vault in a file.
BUSY_SECONDS = 60.0
# A search is stopped after this time: its server has other requests to answer.
SEARCH_SECONDS = 30.0
# Parts of libpq's messages about connections that could not be made, and our sentences.
REFUSED = {
    "password authentication failed": "PostgreSQL refused the user or the password for {place}; "
    "check `store.url`.",
    "no password supplied": "PostgreSQL wants a password for {place}; give it in `store.url` or in "
    "the environment variable PGPASSWORD.",
    "does not exist": "PostgreSQL knows no such database or user: {place}; check `store.url`.",
    "failed to resolve host": "There is no host of that name: {place}; check `store.url`.",
    "session is read-only": "None of the servers of {place} takes writes now; try again later.",
    "too many clients": "PostgreSQL accepts no more connections to {place}; try again later.",
    "starting up": "PostgreSQL is just starting at {place}; try again.",
    "shutting down": "PostgreSQL is just stopping at {place}; try again.",
}
# A retry does not help here.
FINAL = ("password authentication failed", "no password supplied", "does not exist")
# This server, or another one, will soon answer.
SOON = ("starting up", "shutting down", "in recovery mode", "not yet accepting", "is read-only")
# The server ends, is no longer the primary, or as a replica had to give way to the primary.
MOVED = (
    errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow,
    errors.ReadOnlySqlTransaction, errors.SerializationFailure,
)  # fmt: skip


def is_passing(error: psycopg.Error) -> bool:
    """Return True if a retry on another connection may succeed: this one was lost, or not made."""
    if isinstance(error, MOVED):
        return True
    lost = isinstance(error, psycopg.OperationalError) and error.sqlstate is None
    if not lost or isinstance(error, errors.PipelineAborted):
        return False
    return not any(words in str(error) for words in FINAL)


def place_of(url: str) -> str:
    """Describe the database of a URL without user and password; StoreError for a wrong URL."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # libpq's error quotes the URL with the password, so it is not shown.
        raise StoreError(
            "`store.url` is not an address of a database; write it like "
            "postgresql://user@host:5432/database."
        ) from None
    hosts = str(parts.get("host") or "this machine").split(",")
    ports = str(parts.get("port") or "").split(",")
    ports = ports if len(ports) == len(hosts) else ports[:1] * len(hosts)
    places = [f"{host}:{port}" if port else host for host, port in zip(hosts, ports, strict=True)]
    return f"{parts.get('dbname') or parts.get('user') or 'the database'} at {', '.join(places)}"


@contextmanager
def as_store_errors(place: str) -> Iterator[None]:
    """Raise psycopg's errors about the database at `place` as StoreError."""
    try:
        yield
    except psycopg.Error as error:
        raised = Interrupted if is_passing(error) else StoreError
        raise raised(sentence(place, error)) from error


def sentence(place: str, error: psycopg.Error) -> str:
    reason = _reason(error)
    match error:
        case errors.QueryCanceled():
            return (
                f"PostgreSQL stopped a statement after {SEARCH_SECONDS:.0f} seconds ({place}); "
                "narrow the search, or look at the load of the server."
            )
        case errors.LockNotAvailable():
            return f"Another one is writing to this vault ({place}); try again when it is done."
        case errors.ReadOnlySqlTransaction():
            return (
                f"{place} can only be read (a replica, or a primary set to read-only), so nothing "
                "was written; point `store.url` at the primary."
            )
        case errors.UndefinedTable() | errors.UndefinedColumn() | errors.UndefinedFunction():
            return (
                f"A table of Recollect in {place} is not as it was made ({reason}): it was renamed "
                "or changed by hand; undo that, or restore a backup."
            )
        case errors.InsufficientPrivilege():
            return f"The user of `store.url` may not do that in {place} ({reason})."
        case errors.DiskFull():
            return f"The disk of {place} is full; nothing of this write was kept."
        case psycopg.OperationalError():
            known = next((text for words, text in REFUSED.items() if words in str(error)), None)
            return (known or "{place} cannot be reached ({reason}); nothing was written.").format(
                place=place, reason=reason
            )
    return f"PostgreSQL could not answer ({place}): {reason}."


def _reason(error: psycopg.Error) -> str:
    """Return the server's message without the statement."""
    return " ".join((error.diag.message_primary or str(error)).split()).rstrip(".")[:200]


# It warns of each lost connection, which the caller learns from the error.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

Connection = psycopg.Connection[tuple[Any, ...]]
Made = TypeVar("Made")
# Defaults for what a URL may set. A machine that vanishes is noticed in 10 seconds, while others
# agree on a new primary, so that a write's deadline is not over before there is one.
LIBPQ = {
    "connect_timeout": 5, "application_name": "recollect", "keepalives_idle": 4,
    "keepalives_interval": 2, "keepalives_count": 3, "tcp_user_timeout": 10_000,
}  # fmt: skip
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 1.0  # between two tries to connect


class Pool:
    """The connections of one URL. It counts its users; the last one to leave closes them."""

    def __init__(self, url: str) -> None:
        self.place = place_of(url)
        self._url = url
        self._idle: list[Connection] = []
        self._guard = threading.Lock()
        self.users = 0

    def take(self, *, fresh: bool = False) -> Connection:
        """Return an idle connection or a new one. `fresh`: close the idle ones, which may have
        been cut off, and return a new one."""
        with self._guard:
            if fresh:
                self._close()
            elif self._idle:
                return self._idle.pop()
        # Autocommit: statements begin transactions, together with their settings. No prepared
        # statements: a pooler in between may use another connection for each transaction.
        options: dict[str, Any] = LIBPQ | conninfo_to_dict(self._url)
        return psycopg.connect(autocommit=True, prepare_threshold=None, **options)

    def reach(
        self, use: Callable[[Connection], Made], retry: Callable[[psycopg.Error], bool]
    ) -> tuple[Connection, Made]:
        """Return a connection and the result of `use`. Try an idle connection, then a fresh one,
        then others while `retry` returns True."""
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
        """Take a connection back; roll back its transaction, and close it unless it is idle."""
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
_parents: list[Pool] = []  # never closed here: the connections belong to the parent process


def pool_of(url: str) -> Pool:
    """Return this process's pool for a URL, and count a new user."""
    with _guard, as_store_errors(""):
        pool = _pools.get(url) or _pools.setdefault(url, Pool(url))
        pool.users += 1
        return pool


def _after_fork() -> None:
    _parents.extend(_pools.values())
    _pools.clear()


os.register_at_fork(after_in_child=_after_fork)
