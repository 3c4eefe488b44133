"""PostgreSQL's errors as sentences that say what happened, where, and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from recollect.errors import Interrupted, StoreError

# How long a write waits for others: as long as one to a vault in a file does.
BUSY_SECONDS = 60.0
# A search that takes longer serves nobody, and its server has others to answer.
SEARCH_SECONDS = 30.0
# What libpq says of a connection that it could not make, and what to do then.
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
# What no second try makes better.
FINAL = ("password authentication failed", "no password supplied", "does not exist")
# What a server says that will soon answer, be it the same one.
SOON = ("starting up", "shutting down", "in recovery mode", "not yet accepting", "is read-only")
# The server ends, is a primary no longer, or as a replica had to give way to the primary.
MOVED = (
    errors.AdminShutdown, errors.CrashShutdown, errors.CannotConnectNow,
    errors.ReadOnlySqlTransaction, errors.SerializationFailure,
)  # fmt: skip


def is_passing(error: psycopg.Error) -> bool:
    """Whether the same may succeed on another connection: this one was lost, or not made."""
    if isinstance(error, MOVED):
        return True
    lost = isinstance(error, psycopg.OperationalError) and error.sqlstate is None
    if not lost or isinstance(error, errors.PipelineAborted):
        return False
    return not any(words in str(error) for words in FINAL)


def place_of(url: str) -> str:
    """The database that a URL names, without user and password; StoreError for a wrong URL."""
    try:
        parts = conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # Not from libpq's error, which quotes the URL, and with it the password.
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
    """What the server said, without the statement that it was about."""
    return " ".join((error.diag.message_primary or str(error)).split()).rstrip(".")[:200]
