"""Changing the key of a vault: setting one, replacing it, removing it.

1. Under SQLite's exclusive lock, the content is written under the new key into a file beside the
   vault. That file is checked and then renamed: from then on the change is decided.
2. The renamed file is copied over the vault, again under the exclusive lock, and removed. Any
   process that opens the vault while that file exists does this first. So a kill at any moment
   leaves a vault that opens: with the old key before the renaming, with the new one after it.

The vault stays the same file throughout. Renaming the copy over it would leave processes that wait
for its lock with the old file and the new log.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import apsw

from recollect.errors import StoreError
from recollect.files import remove_database, sync_folder
from recollect.store.sqlite.cipher import (
    CIPHER,
    COPY,
    HEADER_BYTES,
    MAGIC,
    NEXT,
    Sealed,
    give_key,
    header_of,
    left_over,
    pending,
    real_path,
)
from recollect.store.sqlite.damage import remove_note
from recollect.store.sqlite.integrity import row_counts

PAGE = 4096
OPEN_MAGIC = b"SQLite format 3\x00"
APPLICATION_ID_AT = 68  # https://www.sqlite.org/fileformat2.html, section 1.3
APPLICATION_ID = b"RCLT"
CHUNK = 1 << 16  # what SQLite writes at once is a page: 64 KiB at most
# Running commands end within this time; servers do not and must be stopped first.
ALONE_SECONDS = 5.0
# As long as a command waits for others: the process that has the vault open sees the change soon.
FINISH_SECONDS = 60.0
IN_USE = (
    "Another process is using the vault {path}; stop it (`recollect serve`, `recollect mcp`) and "
    "try again."
)
BEING_CHANGED = (
    "The key of the vault {path} is being changed, and another process has the vault open; stop "
    "that process and try again."
)
CHANGED = "Another process has just changed the key of the vault {path}; nothing was done here."
# SQLite's own way to the disk, below the cipher.
RAW_VFS = "win32" if os.name == "nt" else "unix"


def new_header(scheme: int) -> bytes:
    """A header with 96 random bits, so that no other vault has the same."""
    return MAGIC + bytes([scheme]) + os.urandom(HEADER_BYTES - len(MAGIC) - 1)


def change_key(path: Path, old: bytes | None, new: Sealed | None) -> None:
    """Encrypt the vault, decrypt it, or change its key; no other process may have it open."""
    real = real_path(path)
    copy = Path(real + COPY)
    with closing(_alone(path, old)) as connection:
        if pending(real):
            raise StoreError(CHANGED.format(path=path))
        try:
            _copy_under(connection, copy, new)
            _check(connection, copy, new)
        except BaseException:
            remove_database(copy)
            raise
        copy.replace(real + NEXT)
        sync_folder(copy.parent)
    finish(real)


def finish(real: str) -> None:
    """Copy the file under the new key over the vault, if there is such a file."""
    if not pending(real):
        return
    coming = Path(real + NEXT)
    with exclusive(real, FINISH_SECONDS, BEING_CHANGED) as vault:
        if not pending(real):  # another process has done it while we waited
            return
        _check_vault(coming)
        install(vault, real, coming)


def install(vault: apsw.VFSFile, real: str, coming: Path) -> None:
    """Copy the file over the vault, which is locked, and remove it."""
    for ending in ("-wal", "-shm", "-journal"):  # they belong to what the vault was
        Path(real + ending).unlink(missing_ok=True)
    sync_folder(coming.parent)
    _overwrite(vault, coming)
    remove_note(real)
    coming.unlink()
    sync_folder(coming.parent)


def _check_vault(coming: Path) -> None:
    """Refuse a file that is not a vault: it must not overwrite one."""
    with coming.open("rb") as stream:
        begin = stream.read(PAGE)
    known = begin.startswith(MAGIC) or (
        begin.startswith(OPEN_MAGIC) and begin[APPLICATION_ID_AT:][:4] == APPLICATION_ID
    )
    if len(begin) < PAGE or not known:
        raise StoreError(f"The file {coming} is not a copy of a vault; move it away.")


def tidy(real: str) -> None:
    """Remove the unfinished copy of an interrupted change. The caller has the vault open, so no
    other process is making one."""
    if left_over(real):
        remove_database(Path(real + COPY))


def _alone(path: Path, key: bytes | None) -> apsw.Connection:
    """A connection with the exclusive lock until it is closed, and without a log file."""
    deadline = time.monotonic() + ALONE_SECONDS
    while True:
        connection = apsw.Connection(str(path), apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI)
        try:
            if key is not None:
                give_key(connection, key)
            connection.pragma("journal_mode", "DELETE")  # only where nobody else has it open
            connection.pragma("locking_mode", "EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")
            if connection.pragma("journal_mode") == "delete":  # nobody came in between
                return connection
            connection.close()
        except (apsw.BusyError, apsw.LockedError):
            connection.close()
        except apsw.NotADBError as error:
            connection.close()
            raise StoreError(CHANGED.format(path=path)) from error
        except BaseException:
            connection.close()
            raise
        if time.monotonic() > deadline:
            raise StoreError(IN_USE.format(path=path))
        time.sleep(0.05)


def _copy_under(connection: apsw.Connection, copy: Path, new: Sealed | None) -> None:
    remove_database(copy)
    os.close(os.open(copy, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    key = "key=" if new is None else f"cipher={CIPHER}&key=raw:{(new.key + new.header).hex()}"
    connection.execute("VACUUM INTO ?", (f"{copy.as_uri()}?{key}",), can_cache=False)


def _check(connection: apsw.Connection, copy: Path, new: Sealed | None) -> None:
    """Check that the copy is complete, switch it to WAL and write it to the disk."""
    with closing(apsw.Connection(str(copy), apsw.SQLITE_OPEN_READWRITE)) as made:
        if header_of(made) != (new.header if new else None):
            raise StoreError(
                f"The copy {copy} of the vault has a wrong header, so nothing was changed."
            )
        if new is not None:
            give_key(made, new.key)
        wrong = [str(row[0]) for row in made.execute("PRAGMA quick_check(20)")]
        wrong = [line for line in wrong if line != "ok" and "fts5" not in line.lower()]
        if wrong or row_counts(made) != row_counts(connection):
            raise StoreError(
                f"The copy {copy} of the vault is not complete ({'; '.join(wrong) or 'rows'}), so "
                "nothing was changed; `recollect doctor` may say more."
            )
        made.pragma("journal_mode", "WAL")
    with copy.open("rb+") as stream:
        os.fsync(stream.fileno())


@contextmanager
def exclusive(real: str, seconds: float, refusal: str) -> Iterator[apsw.VFSFile]:
    """The vault's raw bytes under SQLite's exclusive lock, even where they are half a copy. Whoever
    has the vault open holds a lock that excludes it: StoreError after `seconds`."""
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


def _overwrite(vault: apsw.VFSFile, coming: Path) -> None:
    """Write the copy's bytes over the vault's, and zeros over what the vault had beyond them. The
    first page is cleared first and written last, so that half a copy is never taken for a vault."""
    before, after = vault.xFileSize(), coming.stat().st_size
    vault.xWrite(bytes(PAGE), 0)
    vault.xSync(apsw.SQLITE_SYNC_FULL)
    with coming.open("rb") as stream:
        first = stream.read(PAGE)
        place = PAGE
        while chunk := stream.read(CHUNK):
            vault.xWrite(chunk, place)
            place += len(chunk)
    for place in range(after, before, CHUNK):
        vault.xWrite(bytes(min(CHUNK, before - place)), place)
    vault.xSync(apsw.SQLITE_SYNC_FULL)
    vault.xTruncate(after)
    vault.xWrite(first, 0)
    vault.xSync(apsw.SQLITE_SYNC_FULL)
