"""The SQLite file: opening it, connections for threads, transactions."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw
import msgspec

from recollect.errors import Damaged, Locked, StoreError
from recollect.retry import patiently
from recollect.store.sqlite import cipher
from recollect.store.sqlite.cipher import KeySource, Sealed
from recollect.store.sqlite.damage import note_damage, refuse_damaged, remove_note
from recollect.store.sqlite.errors import BUSY_SECONDS, as_store_errors
from recollect.store.sqlite.schema import VERSION, checked_version, migrate


class Database:
    """One vault file, with a connection for each thread that uses it.

    `keys` returns the key of a locked vault; without it a locked vault does not open. `at_rest`: as
    the idle lock leaves it; the first call opens the vault.
    """

    def __init__(self, path: Path, keys: KeySource | None = None, *, at_rest: bool = False) -> None:
        self.path = path
        self._real = cipher.real_path(path)
        self._keys = keys
        self._sealed: Sealed | None = None
        self._at_rest = at_rest
        self._refused = False  # it could not be opened when that was tried last
        self._key_guard = threading.Lock()
        self._in_use = 0
        self._used_at = time.monotonic()
        self._local = threading.local()
        self._opened: list[apsw.Connection] = []
        self._guard = threading.Lock()
        # Beside a vault in use stand its WAL and the WAL's index: the folder must be writable too.
        places = (path, path.parent)
        self.frozen = os.access(path, os.F_OK) and not all(os.access(p, os.W_OK) for p in places)
        if not at_rest:
            with self.translated():
                self.connection()

    def connection(self) -> apsw.Connection:
        """This thread's connection."""
        self._used_at = time.monotonic()
        return self._connected()

    def _connected(self) -> apsw.Connection:
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            self._refused = True
            connection = self._open()
            self._local.connection = connection
            self._at_rest = self._refused = False
            with self._guard:
                self._opened.append(connection)
        return connection

    def rows(self, sql: str, *values: apsw.SQLiteValue) -> list[tuple[apsw.SQLiteValue, ...]]:
        """All rows of a statement."""
        with self.translated():
            return self.connection().execute(sql, values).fetchall()

    @contextmanager
    def writing(
        self, *, repairing: bool = False, patient: bool = True
    ) -> Iterator[apsw.Connection]:
        """A transaction that holds the write lock from its start and is durable at its end. Into a
        vault that is known to be damaged only a repair writes. Who is not patient gets StoreError
        while another one writes."""
        if self.frozen:
            raise StoreError(f"The vault {self.path} is read-only, so nothing can be written.")
        if not repairing:
            refuse_damaged(self._real)
        with self.translated():
            connection = self.connection()
            if patient:
                _patiently(lambda: connection.execute("BEGIN IMMEDIATE"))
            else:
                _at_once(connection, "BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def translated(self, *, counts: bool = True) -> Iterator[None]:
        """Raise SQLite's errors as StoreError; the vault counts as in use meanwhile. What does not
        count puts off the idle lock no longer than it takes."""
        with self._guard:
            self._in_use += 1
        try:
            with as_store_errors(self.path):
                yield
        except Damaged as error:
            self.note_damage(str(error))
            raise
        finally:
            with self._guard:
                self._in_use -= 1
                if counts:
                    self._used_at = time.monotonic()

    def probe(self) -> None:
        """Raise what a search would raise. Whoever watches a server asks again and again: so this
        neither opens a vault at rest, unless the last call could not, nor keeps one open."""
        if not self.at_rest or self._refused:
            with self.translated(counts=False):
                self._connected().execute("SELECT 1 FROM memories LIMIT 1").fetchall()

    def data_version(self) -> int:
        """SQLite's own count of the writes that this thread's connection sees."""
        with self.translated(counts=False):
            return int(self._connected().pragma("data_version"))

    @property
    def at_rest(self) -> bool:
        """Whether the idle lock has closed the vault: the next call opens it."""
        return self._at_rest

    def note_damage(self, sentence: str | None) -> None:
        """Note that the vault is damaged, or with None that it is not."""
        if sentence is not None:
            note_damage(self._real, sentence)
        elif not self.frozen:
            remove_note(self._real)

    def reader(self, file: Path) -> apsw.Connection:
        """A connection that reads a copy of this vault, or the vault itself, whatever state it is
        in."""
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        connection = apsw.Connection(f"{file.absolute().as_uri()}?mode=ro", flags)
        header = cipher.header_of(connection)
        if header is not None:
            cipher.give_key(connection, self._key_for(header))
        return connection

    def release(self) -> None:
        """Close every connection; the next call opens the vault again. StoreError while another
        thread uses it."""
        with self._guard:
            if self._in_use:
                raise StoreError(f"The vault {self.path} is being used; try again.")
            self._close_all()
            self._local = threading.local()

    @property
    def sealed(self) -> Sealed | None:
        """The key of an encrypted vault that is open at the moment, and its header."""
        return self._sealed

    @property
    def locked(self) -> bool:
        """Whether this is an encrypted vault that is open at the moment."""
        return self._sealed is not None

    def seal(self, idle_s: float) -> bool:
        """Forget the key and close every connection if the vault was not used for `idle_s` seconds.
        Return whether it did. The next call opens the vault again and needs the key again."""
        with self._guard:
            idle = not self._in_use and time.monotonic() - self._used_at >= idle_s
            if not idle or self._sealed is None:
                return False
            self._sealed = None
            self._close_all()
            self._local = threading.local()
            self._at_rest = True
            return True

    def close(self) -> None:
        with self._guard:
            self._close_all()
            self._sealed = None

    def _close_all(self) -> None:
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
        return self._open_frozen() if self.frozen else self._open_writable()

    def _open_writable(self) -> apsw.Connection:
        """Finish a change of the key that was interrupted, then open. While the vault is open, no
        other change can begin."""
        self._create_private()
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
        while True:
            if cipher.pending(self._real):
                from recollect.store.sqlite.rekey import finish  # noqa: PLC0415  start-up time

                finish(self._real)
            try:
                connection = self._prepared(str(self.path), flags)
            except (apsw.NotADBError, apsw.CorruptError, Locked):
                # Another process may have changed the key between our check and our lock.
                seen: bytes | None = self._local.header
                if not cipher.pending(self._real) and cipher.header_at(self.path) == seen:
                    raise
                continue
            if not cipher.pending(self._real):
                if cipher.left_over(self._real):
                    from recollect.store.sqlite.rekey import tidy  # noqa: PLC0415  as above

                    tidy(self._real)
                return connection
            connection.close()

    def _open_frozen(self) -> apsw.Connection:
        if cipher.pending(self._real):
            raise StoreError(
                f"A change of the key of the vault {self.path} was interrupted, and the file is "
                "read-only; open it once where it can be written."
            )
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        uri = self.path.absolute().as_uri()
        try:
            return self._prepared(f"{uri}?mode=ro", flags)
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            # On a read-only medium no WAL index can be made beside the file, and nobody writes.
            return self._prepared(f"{uri}?immutable=1", flags)

    def _create_private(self) -> None:
        """Create a new vault that only its owner can read; SQLite gives the files beside it the
        same rights. An existing one is not opened: closing it would drop this process's locks."""
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            return
        except OSError as error:
            raise StoreError(
                f"The vault {self.path} cannot be opened: {error.strerror}; check that its folder "
                "exists and is yours."
            ) from error

    def _prepared(self, name: str, flags: int) -> apsw.Connection:
        connection = apsw.Connection(name, flags)
        try:
            connection.set_busy_timeout(int(BUSY_SECONDS * 1000))
            header = self._local.header = cipher.header_of(connection)
            if header is not None:
                cipher.give_key(connection, self._key_for(header))
            _patiently(lambda: self._prepare(connection, header))
        except BaseException:
            connection.close()
            raise
        return connection

    def _prepare(self, connection: apsw.Connection, header: bytes | None) -> None:
        """Create or migrate the vault where needed, then set up the connection."""
        version = self._version(connection, header)
        if version < VERSION and self.frozen:
            raise StoreError(
                f"The vault {self.path} must be brought to version {VERSION}, but it is read-only; "
                "open it once where it can be written."
            )
        if version < VERSION:
            connection.execute("PRAGMA journal_mode = WAL")
            migrate(connection, self.path, self._keep_as_it_was)
        elif not self.frozen and connection.pragma("journal_mode") != "wal":
            # A restored backup, or a change of the key that was interrupted.
            connection.execute("PRAGMA journal_mode = WAL")
            connection.pragma("user_version")  # from the first read on, the vault counts as open
        connection.execute("PRAGMA synchronous = FULL")  # acknowledged means on the disk
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA cache_size = -32768")  # 32 MB; mapping the file gained nothing

    def _keep_as_it_was(self, version: int) -> None:
        from recollect.store.sqlite.snapshot import keep_as_it_was  # noqa: PLC0415  start-up time

        keep_as_it_was(self.path, version, self._sealed)

    def _key_for(self, header: bytes) -> bytes:
        """The key, asked for once for all threads."""
        with self._key_guard:
            if self._sealed is not None and self._sealed.header == header:
                return self._sealed.key
            if self._keys is None:
                raise Locked(f"The vault {self.path} is locked, and there is no key for it here.")
            key = self._keys(self.path, header)
            self._sealed = Sealed(key, header)
            return key

    def _version(self, connection: apsw.Connection, header: bytes | None) -> int:
        try:
            return checked_version(connection, self.path)
        except apsw.NotADBError as error:
            if header is None:
                raise
            self._sealed = None
            raise Locked(cipher.WRONG_PASSPHRASE.format(path=self.path)) from error


def as_json_list(values: Iterable[str | int]) -> str:
    """The values as one JSON text for `json_each(?)`: one prepared statement serves any number."""
    return msgspec.json.encode(list(values)).decode()


def _at_once(connection: apsw.Connection, sql: str) -> None:
    """Execute the statement without waiting for other writers."""
    connection.set_busy_timeout(0)
    try:
        connection.execute(sql)
    finally:
        connection.set_busy_timeout(int(BUSY_SECONDS * 1000))


def _patiently(action: Callable[[], object]) -> None:
    """Retry `action` while SQLite reports busy without having waited.

    The busy handler does not cover every case: switching a new file to WAL, recovering the WAL of
    a killed process, and the moment in which the last user of a vault closes it.
    """
    patiently(action, (apsw.BusyError, apsw.LockedError), BUSY_SECONDS)
