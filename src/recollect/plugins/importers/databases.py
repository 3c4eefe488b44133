"""Read untrusted SQLite databases of other tools, opened read-only.

A problem with the whole file is a `UserError`; a problem with one row is returned as its reason,
and the rest is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import apsw

from recollect import UserError
from recollect.plugin.importers import ImportedRecord, refuse_record
from recollect.plugins.importers.files import first_bytes, require_path

# Enough for another writer's transaction to end.
BUSY_MS = 5000
HEADER = b"SQLite format 3\0"


class SourceRow(NamedTuple):
    """One row by column names, or the reason why the rest cannot be read. A text that is not valid
    UTF-8 stays bytes."""

    where: str
    values: dict[str, object] | None
    reason: str = ""


def is_database(path: Path) -> bool:
    """Return True if a file begins like a SQLite database; UserError if it cannot be read."""
    return first_bytes(path, len(HEADER)) == HEADER


@contextmanager
def database(path: Path, tool: str) -> Iterator[apsw.Connection]:
    """Open a SQLite file of another tool, read-only and as of one moment; UserError if it is
    something else."""
    if not require_path(path).is_file():
        raise UserError(f"{path} is not a file; {tool} keeps its memories in a SQLite database.")
    connection = _open(path, tool)
    try:
        yield connection
    except (apsw.Error, UnicodeDecodeError) as error:  # the latter for a damaged schema
        raise _unreadable(path, tool, error) from error
    finally:
        connection.close()


def _open(path: Path, tool: str) -> apsw.Connection:
    try:
        return _connect(path, "mode=ro")
    except (apsw.CantOpenError, apsw.ReadOnlyError) as error:
        # Reading a WAL database creates files in its folder. If the folder forbids that and there
        # is no WAL, no process can be writing, and the file can be read as immutable.
        if path.with_name(f"{path.name}-wal").exists():
            raise _unreadable(path, tool, error) from error
    except apsw.Error as error:
        raise _unreadable(path, tool, error) from error
    try:
        return _connect(path, "mode=ro&immutable=1")
    except apsw.Error as error:
        raise _unreadable(path, tool, error) from error


def _connect(path: Path, how: str) -> apsw.Connection:
    try:
        address = f"file:{quote(str(path.absolute()))}?{how}"
    except UnicodeEncodeError as error:
        raise UserError(f"The path {str(path)!r} is not valid UTF-8 text.") from error
    connection = apsw.Connection(address, flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
    try:
        connection.set_busy_timeout(BUSY_MS)
        # The schema of an untrusted file must not run functions.
        connection.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
        connection.execute("BEGIN")
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def _unreadable(path: Path, tool: str, error: Exception) -> UserError:
    if isinstance(error, apsw.NotADBError):
        return UserError(f"{path} is not a SQLite database of {tool}, or it is encrypted.")
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return UserError(f"{path} is in use; stop {tool} and try again.")
    return UserError(f"{path} cannot be read: {error}.")


def columns(connection: apsw.Connection, table: str) -> tuple[str, ...]:
    """Return the names of a table's columns, none for a missing table."""
    names = connection.execute(
        "SELECT name FROM pragma_table_info(?) WHERE EXISTS "
        "(SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?)",
        (table, table),
    )
    return tuple(str(name) for (name,) in names)


def require(connection: apsw.Connection, path: Path, tool: str, **tables: tuple[str, ...]) -> None:
    """Raise UserError if one of these tables or columns is missing."""
    for table, needed in tables.items():
        there = columns(connection, table)
        if not there:
            raise UserError(f"{path} is not a database of {tool}: it has no table {table!r}.")
        for column in needed:
            if column not in there:
                raise UserError(
                    f"{path} has no column {column!r} in its table {table!r}: this version of "
                    f"{tool} is not supported."
                )


def rows(
    connection: apsw.Connection, table: str, order: str, *, without: tuple[str, ...] = ()
) -> Iterator[SourceRow]:
    """Yield every row of a table, in the order of a column; leave out the columns `without`."""
    names = tuple(name for name in columns(connection, table) if name not in without)
    if not names:
        return
    encoding = str(connection.pragma("encoding")).replace("UTF-16le", "UTF-16-LE")
    encoding = encoding.replace("UTF-16be", "UTF-16-BE")
    sql = f"SELECT {as_blobs(names)} FROM {_quote(table)} ORDER BY {_quote(order)}"
    number = 0
    try:
        for row in connection.execute(sql):
            number += 1
            values = (decode_text(value, encoding) for value in row)
            yield SourceRow(f"{table}, row {number}", dict(zip(names, values, strict=True)))
    except apsw.Error as error:
        reason = f"This row and those after it cannot be read: {error}."
        yield SourceRow(f"{table}, row {number + 1}", None, reason)


def import_rows(
    found: Iterable[SourceRow], record: Callable[[str, dict[str, object]], ImportedRecord]
) -> Iterator[ImportedRecord]:
    """Yield the result of `record` for each row's place and values; it may raise UserError."""
    for row in found:
        try:
            if row.values is None:
                raise UserError(row.reason)
            yield record(row.where, row.values)
        except UserError as error:
            yield refuse_record(row.where, str(error))


def pairs(connection: apsw.Connection, table: str, key: str, value: str) -> dict[object, object]:
    """Return the values of one column by those of another, from all readable rows."""
    readable = (row.values for row in rows(connection, table, key) if row.values)
    return {values.get(key): values.get(value) for values in readable}


def as_blobs(names: Iterable[str]) -> str:
    """Return SQL for these columns with texts as bytes, so that a text that is not valid UTF-8 does
    not fail the whole query."""
    return ", ".join(
        f"CASE typeof({name}) WHEN 'text' THEN CAST({name} AS BLOB) ELSE {name} END"
        for name in map(_quote, names)
    )


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def decode_text(value: object, encoding: str = "utf-8") -> object:
    """Return a value of `as_blobs` as text; bytes that are not text stay bytes."""
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode(encoding)
    except UnicodeDecodeError:
        return value
