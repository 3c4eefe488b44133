"""Opening a vault file: its key, its log, its version, and cleaning up after interrupted commands.

`UsageLock` counts the threads that use the open vault.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import apsw

from recollect.deadline import retry_while_busy, warn_if_slow
from recollect.errors import Locked, StoreError
from recollect.store.sqlite.errors import BUSY_SECONDS
from recollect.store.sqlite.migration import VERSION, checked_version, migrate
from recollect.store.sqlite.replacement import finish, tidy
from recollect.store.sqlite.snapshot import keep_as_it_was
from recollect.store.sqlite.vault_files import (
    INDEX,
    LOG,
    WRONG_PASSPHRASE,
    KeySource,
    Sealed,
    give_key,
    header_at,
    header_of,
    is_copy_left,
    is_key_change_pending,
    log_fits,
    log_in_use,
    log_is_lost,
    real_path,
    remove_orphans,
    uri_without_log,
    wait_for_others,
)

LOG_LOST = (
    "The log of the vault {path} was deleted while another process uses the vault; stop that "
    "process and try again."
)
GONE = (
    "The vault {path} was moved or deleted while it was in use; put it back, or restart Recollect "
    "to begin a new one."
)
# Prepared statements to keep: all those of searches, which take longer to prepare than to run.
STATEMENTS = 400


class Opener:
    """Opens connections to the vault at `path`. `keys` returns the key of a locked vault; `sealed`
    is the key, after it was needed."""

    def __init__(self, path: Path, keys: KeySource | None) -> None:
        self.path = path
        self.sealed: Sealed | None = None
        self._keys = keys
        self._key_guard = threading.Lock()
        self.locate()

    def locate(self) -> None:
        """Find the vault, and whether it can be written."""
        self.real = real_path(self.path)
        # A vault in use has a WAL and the WAL's index next to it: the folder must be writable too.
        places = (self.path, self.path.parent)
        there = os.access(self.path, os.F_OK)
        self.frozen = there and not all(os.access(p, os.W_OK) for p in places)

    def open(self, *, create: bool) -> apsw.Connection:
        """Return a connection to the vault; with `create`, make a missing one."""
        try:
            if self.path.is_dir():
                raise StoreError(f"{self.path} is a folder, not a vault file.")
        except OSError as error:
            raise StoreError(
                f"The vault {self.path} cannot be opened: {error.strerror}."
            ) from error
        if self.frozen:
            return self._open_frozen()
        if create:
            self._create_private()
        elif not self.path.exists():
            raise StoreError(GONE.format(path=self.path))
        return self._open_writable()

    def reader(self, uri: str) -> apsw.Connection:
        """Return a connection that reads the vault or a copy of it, with the vault's key."""
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        connection = apsw.Connection(uri, flags)
        self._give_key(connection, header_of(connection))
        return connection

    def without_log(self) -> apsw.Connection:
        return self.reader(uri_without_log(self.real))

    def _open_writable(self) -> apsw.Connection:
        """Finish an interrupted change of the key, then open, which excludes other changes."""
        remove_orphans(self.real)
        while True:
            if is_key_change_pending(self.real):
                finish(self.real)
            connection = apsw.Connection(
                str(self.path), apsw.SQLITE_OPEN_READWRITE, statementcachesize=STATEMENTS
            )
            header = header_of(connection)
            try:
                self._prepare(connection, header)
            except (apsw.NotADBError, apsw.CorruptError, StoreError):
                # Another process may have changed the key between our check and our lock; then the
                # vault, or the log that others write by now, is of no use to the old key.
                if not is_key_change_pending(self.real) and header_at(self.path) == header:
                    raise
                continue
            if not is_key_change_pending(self.real):
                if is_copy_left(self.real):
                    tidy(self.real)
                return connection
            connection.close()

    def _open_frozen(self) -> apsw.Connection:
        if is_key_change_pending(self.real):
            raise StoreError(
                f"A change of the key of the vault {self.path} was interrupted, and the file is "
                "read-only; open it once where it can be written."
            )
        try:
            return self._read_only("mode=ro")
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            # On a read-only medium no WAL index can be made, and no process writes.
            return self._read_only("immutable=1")

    def _read_only(self, how: str) -> apsw.Connection:
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        connection = apsw.Connection(
            f"{self.path.absolute().as_uri()}?{how}", flags, statementcachesize=STATEMENTS
        )
        self._prepare(connection, header_of(connection))
        return connection

    def _create_private(self) -> None:
        """Create a new vault that only its owner can read; SQLite gives its other files the same
        rights. An existing vault is not opened: closing it would drop this process's locks."""
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            return
        except OSError as error:
            raise StoreError(
                f"The vault {self.path} cannot be opened: {error.strerror}; check that its folder "
                "exists and is yours."
            ) from error

    def _prepare(self, connection: apsw.Connection, header: bytes | None) -> None:
        """Give the connection its key, check that the log is the vault's own, migrate the vault,
        and set the connection up. Close it if this fails."""
        try:
            # Until the log is known to be the vault's own, closing must not copy it into the vault.
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            wait_for_others(connection, BUSY_SECONDS)
            self._give_key(connection, header)
            if log_in_use(self.real):
                waiting_for_others(lambda: self._check_log(connection))
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0)
            waiting_for_others(lambda: self._bring_to_version(connection, header))
        except BaseException:
            connection.close()
            raise

    def _give_key(self, connection: apsw.Connection, header: bytes | None) -> None:
        if header is not None:
            give_key(connection, self._key_for(header))

    def _check_log(self, connection: apsw.Connection) -> None:
        if not log_fits(connection, self.without_log):
            raise StoreError(
                f"The log {self.real}{LOG} does not belong to the vault beside it, which was "
                f"replaced while it was in use; move {self.real}{LOG} and {self.real}{INDEX} "
                "away and try again."
            )

    def _bring_to_version(self, connection: apsw.Connection, header: bytes | None) -> None:
        """Create or migrate the vault if needed, then set up the connection."""
        version = self._version(connection, header)
        if not self.frozen and log_is_lost(connection, self.real):
            raise StoreError(LOG_LOST.format(path=self.path))
        if version < VERSION and self.frozen:
            raise StoreError(
                f"The vault {self.path} must be brought to version {VERSION}, but it is read-only; "
                "open it once where it can be written."
            )
        if version < VERSION:
            # Only an empty file can be changed so: merges then return the pages that they free.
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute("PRAGMA journal_mode = WAL")
            migrate(connection, self.path, lambda old: keep_as_it_was(self.path, old, self.sealed))
        elif not self.frozen and connection.pragma("journal_mode") != "wal":
            connection.execute(
                "PRAGMA journal_mode = WAL"
            )  # after a restore or an interrupted key change
            connection.pragma("user_version")  # the first read creates the log
        connection.execute("PRAGMA synchronous = FULL")  # an acknowledged write is on the disk
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA cache_size = -32768")  # 32 MB; mapping the file gained nothing

    def _key_for(self, header: bytes) -> bytes:
        """Return the key, requested once for all threads."""
        with self._key_guard:
            if self.sealed is not None and self.sealed.header == header:
                return self.sealed.key
            if self._keys is None:
                raise Locked(f"The vault {self.path} is locked, and there is no key for it here.")
            key = self._keys(self.path, header)
            self.sealed = Sealed(key, header)
            return key

    def _version(self, connection: apsw.Connection, header: bytes | None) -> int:
        try:
            return checked_version(connection, self.path)
        except apsw.NotADBError as error:
            if header is None:
                raise
            self.sealed = None
            raise Locked(WRONG_PASSPHRASE.format(path=self.path)) from error


def waiting_for_others(action: Callable[[], object]) -> None:
    """Retry `action` while SQLite reports busy without having waited.

    The busy handler does not cover every case: switching a new file to WAL, recovering the WAL of
    a killed process, and the moment in which the last user of a vault closes it.
    """
    with warn_if_slow("Waiting: another process is writing to the vault."):
        retry_while_busy(action, (apsw.BusyError, apsw.LockedError), BUSY_SECONDS)


class UsageLock:
    """Counts threads between `enter` and `leave`, which may be nested. Threads wait at `enter`
    while `lock` is held or another thread is `alone`."""

    def __init__(self) -> None:
        self.lock = threading.Condition(threading.Lock())
        self._inside = 0
        self._taken = False
        self._left_at = time.monotonic()
        self._local = threading.local()

    def enter(self) -> bool:
        """Enter; return True if this thread was outside until now."""
        depth: int = getattr(self._local, "depth", 0)
        if depth == 0:
            with self.lock:
                while self._taken:
                    self.lock.wait()
                self._inside += 1
        self._local.depth = depth + 1
        return depth == 0

    def leave(self, *, counts: bool = True) -> None:
        """Leave; `counts=False` does not restart the time for `idle`."""
        self._local.depth -= 1
        if self._local.depth == 0:
            with self.lock:
                self._inside -= 1
                if counts:
                    self._left_at = time.monotonic()
                if self._taken:
                    self.lock.notify_all()

    def idle(self, seconds: float) -> bool:
        """Return True if no thread is inside, and none was for that time. Call with `lock` held."""
        return not self._inside and time.monotonic() - self._left_at >= seconds

    @contextmanager
    def alone(self, seconds: float) -> Iterator[bool]:
        """Wait until no other thread is inside; raise TimeoutError if one stays for longer than
        `seconds`. Yield False if another thread has just been alone instead."""
        with self.lock:
            first = not self._taken
            if first:
                self._taken = True
                if not self.lock.wait_for(lambda: self._inside == 1, seconds):
                    self._release()
                    raise TimeoutError
            else:
                self._inside -= 1
                self.lock.notify_all()
                self.lock.wait_for(lambda: not self._taken)
                self._inside += 1
        try:
            yield first
        finally:
            if first:
                with self.lock:
                    self._release()

    def _release(self) -> None:
        self._taken = False
        self.lock.notify_all()
