"""The SQLite file: opening, checking, migrating, transactions, and errors as sentences."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw
import msgspec

from recollect.errors import StoreError
from recollect.store.sqlite import parts

APPLICATION_ID = 0x52434C54  # "RCLT", so that `file` and we can tell a vault from any database
VERSION = 3
# What SQL alone cannot migrate, by the version it belongs to.
AFTERWARDS = {3: parts.fill}
# Long enough for seven other writers and a large import batch to finish before us.
BUSY_SECONDS = 60.0


class Database:
    """One vault file, with a connection for each thread that uses it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._local = threading.local()
        self._opened: list[apsw.Connection] = []
        self._guard = threading.Lock()
        # Beside a vault in use stand its WAL and the WAL's index: the folder must be writable too.
        places = (path, path.parent)
        self.frozen = os.access(path, os.F_OK) and not all(os.access(p, os.W_OK) for p in places)
        with self.translated():
            self.connection()

    def connection(self) -> apsw.Connection:
        """This thread's connection."""
        held: apsw.Connection | None = getattr(self._local, "connection", None)
        if held is None:
            held = self._open()
            self._local.connection = held
            with self._guard:
                self._opened.append(held)
        return held

    def rows(self, sql: str, *values: apsw.SQLiteValue) -> list[tuple[apsw.SQLiteValue, ...]]:
        """All rows of a statement."""
        with self.translated():
            return self.connection().execute(sql, values).fetchall()

    @contextmanager
    def writing(self) -> Iterator[apsw.Connection]:
        """A transaction that holds the write lock from its start and is durable at its end."""
        if self.frozen:
            raise StoreError(f"The vault {self.path} is read-only, so nothing can be written.")
        with self.translated():
            connection = self.connection()
            _patiently(lambda: connection.execute("BEGIN IMMEDIATE"))
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def translated(self) -> Iterator[None]:
        """SQLite's own errors as StoreError, in sentences."""
        try:
            yield
        except apsw.Error as error:
            raise StoreError(_sentence(self.path, error)) from error
        except UnicodeDecodeError as error:  # SQLite does not look at what it hands out
            raise StoreError(_damaged(self.path, "a text is not valid UTF-8")) from error

    def close(self) -> None:
        with self._guard:
            for connection in self._opened:
                with suppress(apsw.Error):  # another thread may be inside; the process ends soon
                    connection.close()
            self._opened.clear()

    def _open(self) -> apsw.Connection:
        try:
            if self.path.is_dir():
                raise StoreError(f"{self.path} is a folder, not a vault file.")
        except OSError as error:
            raise StoreError(
                f"The vault {self.path} cannot be opened: {error.strerror}."
            ) from error
        if not self.frozen:
            self._create_private()
            return self._prepared(
                str(self.path), apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
            )
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        uri = self.path.absolute().as_uri()
        try:
            return self._prepared(f"{uri}?mode=ro", flags)
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            # On a read-only medium no WAL index can be made beside the file, and nobody writes.
            return self._prepared(f"{uri}?immutable=1", flags)

    def _create_private(self) -> None:
        """A new vault is its owner's alone; SQLite gives the files beside it the same rights."""
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise StoreError(
                f"The vault {self.path} cannot be opened: {error.strerror}; check that its folder "
                "exists and is yours."
            ) from error

    def _prepared(self, name: str, flags: int) -> apsw.Connection:
        connection = apsw.Connection(name, flags)
        try:
            connection.set_busy_timeout(int(BUSY_SECONDS * 1000))
            _patiently(lambda: self._prepare(connection))
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: apsw.Connection) -> None:
        """Create or migrate where needed, then set what holds for each connection."""
        version = _checked_version(connection, self.path)
        if version < VERSION and self.frozen:
            raise StoreError(
                f"{self.path} cannot be made a vault of version {VERSION}, because it is read-only."
            )
        if version < VERSION:
            connection.execute("PRAGMA journal_mode = WAL")
            _migrate(connection, self.path)
        connection.execute("PRAGMA synchronous = FULL")  # acknowledged means on the disk
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA cache_size = -32768")  # 32 MB; mapping the file gained nothing


def as_json_list(values: Iterable[str | int]) -> str:
    """Any number of values as one, for `json_each(?)`: one prepared statement serves them all."""
    return msgspec.json.encode(list(values)).decode()


def _patiently(action: object) -> None:
    """Run `action` again while SQLite says busy without having waited.

    The busy handler does not cover every case: switching a new file to WAL, recovering a WAL that
    a killed process left, and the moment in which the last user of a vault closes it.
    """
    assert callable(action)
    deadline = time.monotonic() + BUSY_SECONDS
    pause = 0.001
    while True:
        try:
            action()
            return
        except (apsw.BusyError, apsw.LockedError):
            if time.monotonic() > deadline:
                raise
            time.sleep(pause)
            pause = min(pause * 2, 0.1)


def _checked_version(connection: apsw.Connection, path: Path) -> int:
    # One statement sees one moment: another process may be making the vault just now.
    [(version, application, empty)] = connection.execute(
        "SELECT user_version, application_id, NOT EXISTS (SELECT 1 FROM sqlite_schema) "
        "FROM pragma_user_version, pragma_application_id"
    ).fetchall()
    assert isinstance(version, int)
    if application != APPLICATION_ID:
        if version or not empty:
            raise StoreError(f"{path} is a SQLite database, but not a Recollect vault.")
        return 0
    if version > VERSION:
        raise StoreError(
            f"The vault {path} has version {version}, and this Recollect knows versions up to "
            f"{VERSION}; install a newer Recollect to open it."
        )
    return version


def _migrate(connection: apsw.Connection, path: Path) -> None:
    """Bring the file to VERSION in one transaction; whoever comes second finds it done."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = _checked_version(connection, path)
        if version == 0:
            connection.execute(_resource("schema.sql"))
            key = os.urandom(32).hex()
            connection.execute("INSERT INTO meta VALUES ('topic_key', ?)", (key,))
        for step in range(max(version, 1) + 1, VERSION + 1 if version else 0):
            connection.execute(_resource(f"migrations/{step:04}.sql"))
            if step in AFTERWARDS:
                AFTERWARDS[step](connection)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _resource(name: str) -> str:
    return Path(__file__).parent.joinpath(name).read_text(encoding="utf-8")


def _sentence(path: Path, error: apsw.Error) -> str:
    """What happened, to which file, and what helps."""
    told = " ".join(str(error).split())[:200]  # SQLite may quote a statement of many lines
    match error:
        case apsw.NotADBError():
            return f"{path} is not a Recollect vault: it is not a SQLite database."
        case apsw.CantOpenError():
            return f"The vault {path} cannot be opened; check that its folder exists and is yours."
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return f"The vault {path} is read-only, so nothing can be written."
        case apsw.FullError():
            return f"The disk that holds {path} is full; nothing of this write was kept."
        case apsw.CorruptError():
            return _damaged(path, told)
        case apsw.BusyError() | apsw.LockedError():
            return (
                f"Another process has been writing to {path} for over {BUSY_SECONDS:.0f} seconds; "
                "try again when it is done."
            )
        case apsw.IOError():
            return f"Reading or writing {path} failed ({told}); nothing of this write was kept."
        case apsw.TooBigError():
            return "A text is larger than SQLite can hold (about 1 GB)."
    return f"The vault {path} could not answer: {told}."


def _damaged(path: Path, what: str) -> str:
    return f"The vault {path} is damaged ({what}); `recollect doctor` says more."
