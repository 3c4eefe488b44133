"""The files of a vault: whether they belong together, and how a locked one is encrypted.

SQLite keeps what was written last in a log and finds it by its name alone. If another file takes
the vault's place, SQLite would read the old log as the new file's and copy it into that file. So a
process that has a vault open compares its files with those at the path, and every write leaves a
mark, which says of which state of the vault its log is the continuation.

SQLite encrypts locked vaults as a whole. The cipher is SQLite3 Multiple Ciphers' ChaCha20-Poly1305,
page by page: the pages of the database, of its log and of its journals are encrypted and
authenticated. It keeps 16 bytes in clear at the beginning of the file, where an open database says
"SQLite format 3". With a key that is given raw these bytes are ours: they say that this is a locked
vault, how its key is made, and hold the salt. So the file itself holds everything that a passphrase
needs, and both change together.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import apsw

from recollect.errors import StoreError
from recollect.store.sqlite.errors import BUSY_SECONDS

try:
    import fcntl
except ImportError:  # Windows, where a file that is open can be neither removed nor replaced
    fcntl = None  # type: ignore[assignment]
LOG, INDEX = "-wal", "-shm"
ASIDE = "-wal-replaced"  # the log of a vault whose content was overwritten while it was open
# Pending counts of uses, and those that a write has taken and not finished.
SPOOLS = ("-usage", "-usage-taken")
LEASE = "-embedding.lock"  # the process that holds it embeds
LOG_HEADER_BYTES = 32  # https://www.sqlite.org/fileformat2.html, section 4.1
SALTS_AT, SALTS_BYTES = 16, 8  # new whenever the log restarts
VAULT_ID = "vault_id"
MARK = "log_mark"
SET = "INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value"
TRIES = 3  # another process may copy its log into the vault between two of our reads
LOCK_SECONDS = 1.0  # for a process to close that only read the vault
LOOK_S = 0.005  # between two checks whether another process is done
RESCUE_SECONDS = 5.0  # for readers of other processes to finish
UNREADABLE = (apsw.NotADBError, apsw.CorruptError, apsw.IOError)
IN_USE = (
    "Another process is using the vault {path}; stop it (`recollect serve`, `recollect mcp`) and "
    "try again."
)
# SQLite's own way to the disk, below the cipher.
RAW_VFS = "win32" if os.name == "nt" else "unix"
FileId = tuple[int, int]
CIPHER = "chacha20"
MAGIC = b"RCL"  # then one byte: how the key is made; then twelve that are random
HEADER_BYTES = 16
KEY_BYTES = 32
# Files next to the vault while its key is changed (see `replacement.py`):
COPY = "-rekeying"  # an unfinished copy under the new key; of no use until it is renamed
NEXT = "-rekeyed"  # the finished copy, whose content replaces the vault's


class VaultFiles(NamedTuple):
    """Device and inode of each file; None for a missing one."""

    vault: FileId | None
    log: FileId | None = None
    log_index: FileId | None = None


class LogMark(NamedTuple):
    """The mark of the last write to a log: the salts of the log at that time, the write that the
    vault itself held when that log began, the write before, and the write."""

    salts: str = "-"
    base: int = 0
    previous: int = 0
    last: int = 0


class _State(NamedTuple):
    vault_id: str | None
    mark: LogMark


def file_id(path: str | Path) -> FileId | None:
    try:
        found = os.stat(path)  # noqa: PTH116  with every write: three times as fast
    except OSError:
        return None
    return found.st_dev, found.st_ino


def files_at(path: str | Path, real: str) -> VaultFiles:
    """Return the files of the vault at `path`; SQLite puts the log next to the file `real`."""
    return VaultFiles(file_id(path), file_id(real + LOG), file_id(real + INDEX))


def log_in_use(real: str) -> bool:
    try:
        return Path(real + LOG).stat().st_size > LOG_HEADER_BYTES
    except FileNotFoundError:
        return False


def log_is_lost(connection: apsw.Connection, real: str) -> bool:
    """Return True if others write to a log that has left its path: its index is in use, and counts
    pages that the log at the path does not have."""
    [(_, written, _)] = connection.execute("PRAGMA wal_checkpoint(NOOP)").fetchall()
    return int(str(written)) > 0 and not log_in_use(real)


def uri_without_log(real: str) -> str:
    """Return the URI that opens the vault's file without its log."""
    return f"{Path(real).as_uri()}?immutable=1"


def vault_id(connection: apsw.Connection) -> str | None:
    """Return the vault's own id, which its copies share; None for another file."""
    try:
        return _state(connection).vault_id
    except UNREADABLE:
        return None


def mark_write(connection: apsw.Connection) -> None:
    before = _state(connection).mark
    salts = _salts(connection)
    base = before.base if before.salts == salts else before.previous
    mark = LogMark(salts, base, before.last, max(time.time_ns(), before.last + 1))
    connection.execute(SET, (MARK, " ".join(map(str, mark))))


def mark_copy(connection: apsw.Connection) -> None:
    """Mark a copy of a vault, so that no log of the original is taken for the copy's. A copy
    without a mark, or a damaged one, stays unchanged."""
    mark = " ".join(map(str, LogMark("-", -1, -1, -1)))
    with suppress(apsw.Error):
        connection.execute("UPDATE meta SET value = ? WHERE key = ?", (mark, MARK))


def log_fits(connection: apsw.Connection, without_log: Callable[[], apsw.Connection]) -> bool:
    """Return True if the connection's log belongs to the file, which `without_log` opens alone."""
    return any(_fits(connection, without_log) for _ in range(TRIES))


def _fits(connection: apsw.Connection, without_log: Callable[[], apsw.Connection]) -> bool:
    # The file first: writes of another process meanwhile make the log newer, never older.
    try:
        with closing(without_log()) as file:
            stored = _state(file)
    except UNREADABLE:
        return True  # being copied into, or damaged: then reading it will say so
    try:
        seen = _state(connection)
    except UNREADABLE:
        return False
    if stored.vault_id not in (None, seen.vault_id):
        return False
    mark = seen.mark
    base = mark.base if mark.salts == _salts(connection) else mark.previous
    return stored.mark.last == mark.last or base <= stored.mark.last <= mark.last


def _state(connection: apsw.Connection) -> _State:
    sql = "SELECT key, value FROM meta WHERE key IN (?, ?)"
    try:
        found = connection.execute(sql, (VAULT_ID, MARK)).fetchall()
        rows = {key: str(value) for key, value in found}
        salts, *numbers = rows.get(MARK, "- 0 0 0").split()
        return _State(rows.get(VAULT_ID), LogMark(salts, *map(int, numbers)))
    except apsw.SQLError:  # a new vault, all of which is still in its log
        return _State(None, LogMark())
    except (ValueError, TypeError) as error:
        raise apsw.CorruptError("the mark of the last write is not valid") from error


def _salts(connection: apsw.Connection) -> str:
    _, salts = connection.read("main", 1, SALTS_AT, SALTS_BYTES)
    return salts.hex() or "-"


def close_replaced(
    connections: Sequence[apsw.Connection], real: str, ours: VaultFiles, *, fits: bool
) -> bool:
    """Close connections to files of which one was moved, deleted or overwritten, so that none of
    their data gets into the files at the path. First copy the log into its own file if no other
    process can be using it. Return False, with nothing closed, if another process prevents a copy
    that is needed."""
    with ExitStack() as stack:
        stack.enter_context(_alone_in(Path(real).parent))
        there = files_at(real, real)
        same = there.vault == ours.vault
        copy = fits if same or there.vault is None else _try_lock(real, stack) is not None
        # A process that opens a vault without a log makes an empty one.
        copy &= there.log in (None, ours.log) or not log_in_use(real)
        copy &= there.log_index in (None, ours.log_index)
        # A process that opens a vault without the log's index makes one from the log.
        how = "FULL" if same and there.log == ours.log else "TRUNCATE"
        if copy and not log_copied(connections[0], RESCUE_SECONDS, how) and same:
            return False
        for connection in connections:
            connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            connection.close()
        if copy and not same:
            remove_log(real)
        if same and not fits and there.log == ours.log:
            Path(real + LOG).replace(real + ASIDE)
        if same and not fits and there.log_index == ours.log_index:
            Path(real + INDEX).unlink()
    return True


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Let one process at a time look at the files of a vault in this folder and remove its own."""
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def log_copied(connection: apsw.Connection, seconds: float, how: str = "TRUNCATE") -> bool:
    """Copy the log into the vault and empty it, or with FULL keep it; return False if a reader or
    writer prevented that for `seconds`."""
    with waiting(connection, seconds):
        [(busy, _, _)] = connection.execute(f"PRAGMA wal_checkpoint({how})").fetchall()
    return not busy


@contextmanager
def waiting(connection: apsw.Connection, seconds: float) -> Iterator[None]:
    wait_for_others(connection, seconds)
    try:
        yield
    finally:
        wait_for_others(connection, BUSY_SECONDS)


def wait_for_others(connection: apsw.Connection, seconds: float) -> None:
    """Let SQLite wait `seconds` from now on, and look every LOOK_S. Its own handler looks ten times
    a second and may miss the moments between the writes of a long operation."""

    def look_again(tries: int) -> bool:
        if tries * LOOK_S >= seconds:
            return False
        time.sleep(LOOK_S)
        return True

    connection.set_busy_handler(look_again)


def remove_orphans(real: str) -> None:
    """Remove the log of a deleted vault that is next to the empty file of a new one."""
    with ExitStack() as stack:
        if Path(real).stat().st_size == 0 and (file_id(real + LOG) or file_id(real + INDEX)):
            vault = _try_lock(real, stack)
            if vault is not None and vault.xFileSize() == 0:
                remove_log(real)


def _try_lock(real: str, stack: ExitStack) -> apsw.VFSFile | None:
    """Return the vault under SQLite's exclusive lock; None if another process has it open."""
    try:
        return stack.enter_context(exclusive(real, LOCK_SECONDS, IN_USE))
    except StoreError:
        return None


def remove_log(real: str) -> None:
    for ending in (LOG, INDEX):
        Path(real + ending).unlink(missing_ok=True)


@contextmanager
def exclusive(real: str, seconds: float, refusal: str) -> Iterator[apsw.VFSFile]:
    """Yield the vault's raw bytes under SQLite's exclusive lock, even if they are half a copy. An
    open vault holds a lock that excludes this one: raise StoreError after `seconds`."""
    flags = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE
    vault = apsw.VFSFile(RAW_VFS, real, [flags, 0])
    try:
        deadline = time.monotonic() + seconds
        while not _take_exclusive_lock(vault):
            if time.monotonic() > deadline:
                raise StoreError(refusal.format(path=real))
            time.sleep(0.02)
        yield vault
    finally:
        with suppress(apsw.Error):
            vault.xUnlock(apsw.SQLITE_LOCK_NONE)
        vault.xClose()


def _take_exclusive_lock(vault: apsw.VFSFile) -> bool:
    steps = (apsw.SQLITE_LOCK_SHARED, apsw.SQLITE_LOCK_RESERVED, apsw.SQLITE_LOCK_EXCLUSIVE)
    try:
        for step in steps:
            vault.xLock(step)
    except apsw.BusyError:
        vault.xUnlock(apsw.SQLITE_LOCK_NONE)
        return False
    return True


class Sealed(NamedTuple):
    """The key and the header that lock a vault."""

    key: bytes
    header: bytes


WRONG_PASSPHRASE = "The passphrase of the vault {path} is wrong; check it and try again."


# Returns the key for a vault's header, or raises Locked.
KeySource = Callable[[Path, bytes], bytes]


def header_of(connection: apsw.Connection) -> bytes | None:
    """Return a locked vault's header; None for any other file. It is read through SQLite before the
    key is set: opening and closing the file in another way would drop the locks of this process."""
    _, header = connection.read("main", 0, 0, HEADER_BYTES)
    return header if len(header) == HEADER_BYTES and header.startswith(MAGIC) else None


def header_at(path: Path) -> bytes | None:
    """Return the header of the locked vault at this path; None for any other file."""
    with closing(apsw.Connection(str(path), apsw.SQLITE_OPEN_READONLY)) as connection:
        return header_of(connection)


def give_key(connection: apsw.Connection, key: bytes) -> None:
    """Encrypt what this connection reads and writes from here on, and keep SQLite's temporary data
    (sorting, undoing a statement) in memory."""
    connection.pragma("cipher", CIPHER)
    connection.pragma("key", f"raw:{key.hex()}")
    connection.execute("PRAGMA temp_store = MEMORY")


def real_path(path: Path) -> str:
    """Return the path without links: SQLite puts its files next to the link's target."""
    return os.path.realpath(path)


def is_key_change_pending(real: str) -> bool:
    """Return True if a change of the key has begun to take effect and is not finished."""
    return os.access(real + NEXT, os.F_OK)


def is_copy_left(real: str) -> bool:
    """Return True if an interrupted change left a useless copy."""
    return os.access(real + COPY, os.F_OK)
