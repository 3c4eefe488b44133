"""The tables of Recollect in a database: run numbered migrations, and check their number."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import resources
from typing import NamedTuple

import psycopg
from psycopg import errors

from recollect.errors import StoreError
from recollect_postgres.pool import Connection, as_store_errors, pool_of

SCHEMA = "SET LOCAL search_path = recollect, public"
# "RCLT" as a number: only one process migrates a database at a time.
LOCK = "SELECT pg_try_advisory_xact_lock(1380142164)"
MADE = """
CREATE SCHEMA IF NOT EXISTS recollect;
CREATE TABLE IF NOT EXISTS recollect.migrations (
    number  integer PRIMARY KEY,
    name    text NOT NULL,
    made_at timestamptz NOT NULL DEFAULT now()
)"""
LAST = "SELECT coalesce(max(number), 0) FROM recollect.migrations"


class Migration(NamedTuple):
    """A step from one version of the tables to the next, as SQL."""

    number: int
    name: str
    sql: str


@cache
def migrations() -> tuple[Migration, ...]:
    """All migrations, in order."""
    files = resources.files(__package__).joinpath("migrations").iterdir()
    named = sorted((file.name, file) for file in files if file.name.endswith(".sql"))
    return tuple(
        Migration(int(name[:4]), name[5:-4], file.read_text("utf-8")) for name, file in named
    )


def check_version(connection: Connection, place: str) -> None:
    """Raise StoreError unless the database has the tables of this version."""
    try:
        [(found,)] = connection.execute(LAST).fetchall()
    except (errors.UndefinedTable, errors.InvalidSchemaName) as error:
        raise StoreError(
            f"{place} has no tables of Recollect yet; `recollect store migrate` makes them."
        ) from error
    refuse_other_version(found, place)


def refuse_other_version(found: int, place: str) -> None:
    known = len(migrations())
    if found < known:
        raise StoreError(
            f"The tables in {place} have version {found}, and this Recollect needs version "
            f"{known}; run `recollect store migrate`."
        )
    if found > known:
        raise StoreError(
            f"The tables in {place} have version {found}, and this Recollect knows versions up "
            f"to {known}; install a newer Recollect."
        )


def migrate(url: str, announce: Callable[[Migration], None] = lambda migration: None) -> int:
    """Bring a database's tables up to date; return the number of migrations. Each one has its own
    transaction, so that it stays when a later one fails."""
    pool = pool_of(url)
    try:
        with as_store_errors(pool.place):
            connection = pool.take()
            try:
                return _run_migrations(connection, pool.place, announce)
            finally:
                pool.give(connection)
    finally:
        pool.leave()


def _run_migrations(
    connection: Connection, place: str, announce: Callable[[Migration], None]
) -> int:
    done = 0
    for migration in migrations():
        with connection.transaction():
            if not connection.execute(LOCK).fetchall()[0][0]:
                raise StoreError(
                    f"Another `recollect store migrate` is changing {place}; wait for it to end."
                )
            connection.execute(MADE)
            if connection.execute(LAST).fetchall()[0][0] >= migration.number:
                continue
            _require_vectors(connection, place)
            announce(migration)
            connection.execute(SCHEMA)
            connection.execute(migration.sql)
            connection.execute(
                "INSERT INTO migrations (number, name) VALUES (%s, %s)", migration[:2]
            )
            done += 1
    check_version(connection, place)
    return done


def _require_vectors(connection: Connection, place: str) -> None:
    try:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except (errors.FeatureNotSupported, errors.UndefinedFile) as error:
        raise StoreError(
            f"PostgreSQL has no extension `vector` at {place}; install pgvector there (0.8 or "
            "newer), then run `recollect store migrate` again."
        ) from error
    except psycopg.errors.InsufficientPrivilege as error:
        raise StoreError(
            f"The user of `store.url` may not install pgvector in {place}; have a superuser run "
            "CREATE EXTENSION vector there, then run `recollect store migrate` again."
        ) from error
