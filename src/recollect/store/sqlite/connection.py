"""The SQLite file: connections for threads, transactions, and reopening it when it is replaced."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache, partial
from pathlib import Path
from typing import TypeVar

import apsw
import msgspec

from recollect.deadline import may_wait
from recollect.errors import Damaged, StoreError
from recollect.store.sqlite.errors import as_store_errors, note_damage, refuse_damaged, remove_note
from recollect.store.sqlite.migration import VERSION, checked_version
from recollect.store.sqlite.opening import GONE, LOG_LOST, Opener, UsageLock, waiting_for_others
from recollect.store.sqlite.vault_files import (
    LOOK_S,
    KeySource,
    Sealed,
    VaultFiles,
    close_replaced,
    file_id,
    files_at,
    header_at,
    log_fits,
    mark_write,
    waiting,
)

# How long a call waits for other threads before it opens a vault that was replaced.
ALONE_SECONDS = 10.0
TRIES = 3  # attempts to write to a vault that keeps being replaced
TRIES_TO_OPEN = 100  # other processes that open and close the vault recreate its log each time
# The names in braces of statements that both stores share (see `SqlDatabase`).
SQLITE = {
    "own": "",  # before the values of a new row
    "key": "",  # before the columns of a row's key
    "among": "IN (SELECT value FROM json_each(?))",
    "author": "user",
    "chunks": "cuts",
    "greatest": "max",
    "changed since": "updated_at >= ?",
    "newest first": "updated_at DESC",
    "by time": "INDEXED BY writes_at",
    "array": "json_group_array",
    "in order": "CROSS",  # the planner joins from left to right
}

Result = TypeVar("Result")


class Database:
    """One vault file, with a connection for each thread that uses it.

    `keys` returns the key of a locked vault; without it a locked vault does not open. If another
    file takes the vault's place, the next call opens that one, and `forget` is called: it drops
    what is in memory of the old one. `at_rest`: as the idle lock leaves it; the first call opens
    the vault.
    """

    def __init__(
        self,
        path: Path,
        keys: KeySource | None = None,
        forget: Callable[[], None] = lambda: None,
        *,
        at_rest: bool = False,
    ) -> None:
        self.path = path
        self._opener = Opener(path, keys)
        self._forget = forget
        self._usage = UsageLock()
        self.at_rest = at_rest  # the idle lock has closed the vault: the next call opens it
        self._refused = False  # the last attempt to open it failed
        self._may_create = True
        self.openings = 0  # incremented when another file is opened
        self._start()
        if not at_rest:
            with self.translate_errors():
                self.connection()

    def _start(self) -> None:
        """Reset to the state before the first connection."""
        self._opener.locate()
        self._local = threading.local()
        self._opened: list[apsw.Connection] = []
        self._files: VaultFiles | None = None  # the open files
        self._stamp = (0, 0)  # modification time and size of the vault's file
        self.openings += 1

    def connection(self) -> apsw.Connection:
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            self._refused = True
            connection = self._local.connection = self._open()
            self.at_rest = self._refused = self._may_create = False
        return connection

    def _open(self) -> apsw.Connection:
        for _ in range(TRIES_TO_OPEN):
            before = self._find_files()
            connection = self._opener.open(create=self._may_create)
            found, stat = self._find_files(), self.path.stat()
            with self._usage.lock:
                # Files that existed before were opened; opening has created the others.
                same = all(was in (None, now) for was, now in zip(before, found, strict=True))
                if self._files is None and (same or before.vault is None):
                    self._files, self._stamp = found, (stat.st_mtime_ns, stat.st_size)
                if self._files == found:
                    self._opened.append(connection)
                    return connection
            # Replaced, or just closed by the last of the other processes that had it open.
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            connection.close()
            if self._files is not None:
                break
        raise StoreError(f"The vault {self.path} is being replaced; try again.")

    def rows(self, sql: str, *values: apsw.SQLiteValue) -> list[tuple[apsw.SQLiteValue, ...]]:
        with self.translate_errors():
            return self.connection().execute(sql, values).fetchall()

    def sql(self, text: str) -> str:
        return sqlite_sql(text)

    def among(self, values: Iterable[str | int]) -> str:
        return as_json_list(values)

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """Enter a block with this thread's connection that reads one snapshot."""
        with self.translate_errors():
            connection = self.connection()
            if connection.in_transaction:
                yield connection
                return
            connection.execute("BEGIN")
            with _rolled_back_on_error(connection):
                yield connection
                if connection.in_transaction:
                    connection.execute("COMMIT")  # keeps temporary tables made in it

    def writing(self) -> AbstractContextManager[apsw.Connection]:
        """Like `repairing`; raise Damaged if the vault is known to be damaged."""
        refuse_damaged(self._opener.real)
        return self.repairing()

    @contextmanager
    def repairing(self) -> Iterator[apsw.Connection]:
        """Enter a transaction that holds the write lock from its start and is durable at its end,
        in the file at the vault's path."""
        if self.frozen:
            raise StoreError(f"The vault {self.path} is read-only, so nothing can be written.")
        with self.translate_errors():
            connection = self._begin_write()
            before = connection.total_changes()
            with _rolled_back_on_error(connection):
                yield connection
                if connection.total_changes() != before:
                    mark_write(connection)
                connection.execute("COMMIT")
            if self._find_files() != self._files:
                raise StoreError(
                    f"The vault {self.path} was replaced or deleted during this write; try again."
                )

    def _begin_write(self) -> apsw.Connection:
        """Return this thread's connection with a transaction on the files at the vault's path."""
        for _ in range(TRIES):
            connection = self.connection()
            _execute_locked(connection, "BEGIN IMMEDIATE")
            with _rolled_back_on_error(connection):
                current = self._is_current() and self._find_files() == self._files
                if current and connection.pragma("user_version") == VERSION:
                    return connection
                if current:
                    checked_version(connection, self.path)  # a newer one is refused
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            self._reopen()
        raise StoreError(f"The vault {self.path} is being replaced; try again.")

    def rewrite(self) -> bool:
        """Write every page again, so that none has bytes of deleted rows: SQLite moves rows from
        page to page and leaves copies in the unused part of the old one. It takes about a second
        for 100 MB, and as much room on the disk as the vault has. Return False, with nothing done,
        if a statement of this thread is in progress."""
        with self.translate_errors():
            try:
                _execute_locked(self.connection(), "VACUUM")
            except apsw.SQLError:
                return False
        return True

    @contextmanager
    def translate_errors(self, *, counts: bool = True) -> Iterator[None]:
        """Raise SQLite's errors as StoreError; the vault is in use meanwhile. On entry, reopen
        it if another file is at its path. `counts=False` does not restart the time of the idle
        lock."""
        came_in = self._usage.enter()
        try:
            with as_store_errors(self.path):
                if came_in and self._files is not None and not self._is_current():
                    self._reopen()
                yield
        except Damaged as error:
            if self._files in (None, self._find_files()):  # otherwise it was replaced meanwhile
                self.note_damage(str(error))
            raise
        finally:
            self._usage.leave(counts=counts)

    def probe(self) -> None:
        """Raise the error that a search would raise. A server is probed again and again, so this
        neither opens a vault at rest, unless the last attempt failed, nor keeps one open."""
        if not self.at_rest or self._refused:
            with self.translate_errors(counts=False):
                self.connection().execute("SELECT 1 FROM memories LIMIT 1").fetchall()

    def data_version(self) -> int:
        """Return SQLite's own count of the writes that this thread's connection sees."""
        with self.translate_errors(counts=False):
            return int(self.connection().pragma("data_version"))

    def note_damage(self, sentence: str | None) -> None:
        if sentence is not None:
            note_damage(self._opener.real, sentence)
        elif not self.frozen:
            remove_note(self._opener.real)

    def reader(self, file: Path) -> apsw.Connection:
        """Return a connection that reads this vault or a copy, in any state."""
        return self._opener.reader(f"{file.absolute().as_uri()}?mode=ro")

    @property
    def place(self) -> str:
        return str(self.path)

    def release(self) -> None:
        """Close every connection until the next call; StoreError if another thread uses it."""
        with self._usage.lock:
            if not self._usage.idle(0):
                raise StoreError(f"The vault {self.path} is being used; try again.")
            self._close_all()
            self._start()

    def probes(self) -> dict[str, Callable[[], None]]:
        return {"database": self.probe}

    def retrying(self, action: Callable[[], Result]) -> Result:
        return action()

    @property
    def frozen(self) -> bool:
        return self._opener.frozen

    @property
    def sealed(self) -> Sealed | None:
        """The key of an encrypted vault that is open at the moment, and its header."""
        return self._opener.sealed

    @property
    def locked(self) -> bool:
        """True if this is an encrypted vault that is open at the moment."""
        return self.sealed is not None

    def unlock(self, key_of: Callable[[bytes], bytes]) -> None:
        """Open the vault with the key made of its header; do nothing if it is open or not locked.
        Raise Locked if the key is wrong."""
        header = None if self.locked else header_at(self.path)
        if header is not None:
            self._opener.sealed = Sealed(key_of(header), header)
            with self.translate_errors(counts=True):
                self.connection().execute("SELECT 1 FROM memories LIMIT 1").fetchall()

    def seal(self, idle_s: float) -> bool:
        """Forget the key and close every connection if the vault was not used for `idle_s` seconds;
        return whether it did. The next call opens the vault again and needs the key again."""
        with self._usage.lock:
            if not self.locked or not self._usage.idle(idle_s):
                return False
            self.close()
            self._start()
            self.at_rest = True
            return True

    def close(self) -> None:
        with suppress(apsw.Error, StoreError):
            self._close_all()
        for connection in self._opened:
            with suppress(apsw.Error):  # another thread may be inside; the process ends soon
                connection.close()
        self._opened.clear()
        self._opener.sealed = None

    # Identity of the file

    def _find_files(self) -> VaultFiles:
        """Return the files at the vault's path; for a read-only vault, without its log."""
        if self.frozen:
            return VaultFiles(file_id(self.path))
        return files_at(self.path, self._opener.real)

    def _is_current(self) -> bool:
        """Return True if the file at the vault's path is open, and the log continues it."""
        try:
            found = self.path.stat()
        except OSError as error:
            raise StoreError(GONE.format(path=self.path)) from error
        files = self._files
        if files is None or (found.st_dev, found.st_ino) != files.vault:
            return False
        return self._fits(found, self.connection)

    def _fits(self, found: os.stat_result, connection: Callable[[], apsw.Connection]) -> bool:
        """Return True if the log belongs to the file; check it only if the file was changed."""
        stamp = (found.st_mtime_ns, found.st_size)
        if stamp != self._stamp and not self.frozen:
            if not log_fits(connection(), self._opener.without_log):
                return False
            self._stamp = stamp
        return True

    def _reopen(self) -> None:
        """Close every connection; the next ones open the files that are at the path now."""
        try:
            with self._usage.alone(ALONE_SECONDS) as alone:
                if alone:
                    self._close_all()
                    self._start()
                    self._forget()
        except TimeoutError as error:
            raise StoreError(
                f"The vault {self.path} was replaced while it was being used; try again."
            ) from error

    def _close_all(self) -> None:
        """Close every connection, without writing to files that took the place of theirs."""
        files, opened, real = self._files, self._opened, self._opener.real
        if files is not None and opened and not self.frozen:
            same = file_id(real) == files.vault
            fits = not same or self._fits(Path(real).stat(), lambda: opened[0])
            abandoned = not fits or files_at(real, real) != files
            if abandoned and not close_replaced(opened, real, files, fits=fits):
                raise StoreError(LOG_LOST.format(path=self.path))
        while opened:
            opened.pop().close()


def _execute_locked(connection: apsw.Connection, sql: str) -> None:
    """Run a statement that needs the write lock."""
    start = partial(connection.execute, sql)
    try:
        with waiting(connection, 0):
            start()
    except (apsw.BusyError, apsw.LockedError):
        if not may_wait():
            raise
        waiting_for_others(start)


def let_others_write() -> None:
    """Pause between two writes of a long operation, so that waiting writers can begin theirs."""
    time.sleep(2 * LOOK_S)


@contextmanager
def _rolled_back_on_error(connection: apsw.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def as_json_list(values: Iterable[str | int]) -> str:
    """Return the values as JSON for `json_each(?)`: one prepared statement for any number."""
    return msgspec.json.encode(list(values)).decode()


@cache
def sqlite_sql(text: str) -> str:
    """Return a statement that both stores share in SQLite's dialect."""
    return re.sub(r"\{([^}]+)\}", lambda name: SQLITE.get(name[1], "true"), text)
