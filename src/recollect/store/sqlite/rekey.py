"""Changing the key of a vault: from none to one, from one to another, from one to none.

1. Alone with the vault (SQLite's exclusive lock), its content is written under the new key into a
   file beside it, which is checked and then renamed: that is the moment of the change.
2. The file beside is copied over the vault, under the exclusive lock again, and removed. Whoever
   opens the vault while that file is there does this first, so a kill at any moment leaves a vault
   that opens, with the old key before the moment and with the new one after it.

The vault stays the same file all the time: one that is renamed over it would leave processes that
wait for its lock with the file that was, and the log that is.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import apsw

from recollect.errors import StoreError
from recollect.store.sqlite.cipher import (
    CIPHER,
    COPY,
    HEADER_BYTES,
    MAGIC,
    NEXT,
    give_key,
    header_of,
    left_over,
    pending,
    real_path,
)

PAGE = 4096
OPEN_MAGIC = b"SQLite format 3\x00"
APPLICATION_ID_AT = 68  # https://www.sqlite.org/fileformat2.html, section 1.3
APPLICATION_ID = b"RCLT"
CHUNK = 1 << 16  # what SQLite writes at once is a page: 64 KiB at most
# Commands that were under way end within that time; servers do not, and must be stopped first.
ALONE_SECONDS = 5.0
# As long as a command waits for others; whoever holds the vault is about to see the change.
FINISH_SECONDS = 60.0
CHANGED = "Another process has changed the key of the vault {path} just now; nothing else was done."
# SQLite's own way to the disk, below the cipher.
RAW_VFS = "win32" if os.name == "nt" else "unix"


class Sealed(NamedTuple):
    """What a vault is to be locked with."""

    key: bytes
    header: bytes


def new_header(scheme: int) -> bytes:
    """A header whose 96 random bits no other vault has."""
    return MAGIC + bytes([scheme]) + os.urandom(HEADER_BYTES - len(MAGIC) - 1)


def change_key(path: Path, old: bytes | None, new: Sealed | None) -> None:
    """Encrypt, decrypt or encrypt anew; nothing else may have the vault open."""
    real = real_path(path)
    copy = Path(real + COPY)
    with closing(_alone(path, old)) as connection:
        if pending(real):
            raise StoreError(CHANGED.format(path=path))
        try:
            _copy_under(connection, copy, new)
            _check(connection, copy, new)
        except BaseException:
            _remove(copy)
            raise
        copy.replace(real + NEXT)
        _sync_folder(copy.parent)
    finish(real)


def finish(real: str) -> None:
    """Let the vault become the copy under its new key, if there is one."""
    if not pending(real):
        return
    coming = Path(real + NEXT)
    with _held_alone(real) as vault:
        if not pending(real):  # another process has done it while we waited
            return
        _check_vault(coming)
        for ending in ("-wal", "-shm", "-journal"):  # they belong to what the vault was
            Path(real + ending).unlink(missing_ok=True)
        _sync_folder(coming.parent)
        _overwrite(vault, coming)
        coming.unlink()
        _sync_folder(coming.parent)


def _check_vault(coming: Path) -> None:
    """Whatever else came to have that name must not cost anybody a vault."""
    with coming.open("rb") as stream:
        begin = stream.read(PAGE)
    known = begin.startswith(MAGIC) or (
        begin.startswith(OPEN_MAGIC) and begin[APPLICATION_ID_AT:][:4] == APPLICATION_ID
    )
    if len(begin) < PAGE or not known:
        raise StoreError(f"The file {coming} is not a vault under a new key; move it away.")


def tidy(real: str) -> None:
    """Remove the copy that a killed change left. The caller has the vault open: nobody makes one
    now."""
    if left_over(real):
        _remove(Path(real + COPY))


def _alone(path: Path, key: bytes | None) -> apsw.Connection:
    """A connection that holds the exclusive lock until it is closed, with the log put away."""
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
            raise StoreError(
                f"Another process is using the vault {path}; stop it (`recollect serve`, "
                "`recollect mcp`) and try again."
            )
        time.sleep(0.05)


def _copy_under(connection: apsw.Connection, copy: Path, new: Sealed | None) -> None:
    _remove(copy)
    os.close(os.open(copy, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    told = "key=" if new is None else f"cipher={CIPHER}&key=raw:{(new.key + new.header).hex()}"
    connection.execute("VACUUM INTO ?", (f"{copy.as_uri()}?{told}",), can_cache=False)


def _check(connection: apsw.Connection, copy: Path, new: Sealed | None) -> None:
    """The copy is whole, on the disk and kept with a log, before it can replace anything."""
    with closing(apsw.Connection(str(copy), apsw.SQLITE_OPEN_READWRITE)) as made:
        if header_of(made) != (new.header if new else None):
            raise StoreError(f"The copy {copy} of the vault does not begin as it should.")
        if new is not None:
            give_key(made, new.key)
        wrong = [str(row[0]) for row in made.execute("PRAGMA quick_check(20)")]
        wrong = [one for one in wrong if one != "ok" and "fts5" not in one.lower()]
        if wrong or _rows(made) != _rows(connection):
            raise StoreError(
                f"The copy {copy} of the vault is not whole ({'; '.join(wrong) or 'rows'}), so "
                "nothing was changed; `recollect doctor` may say more."
            )
        made.pragma("journal_mode", "WAL")
    with copy.open("rb+") as stream:
        os.fsync(stream.fileno())


def _rows(connection: apsw.Connection) -> list[tuple[str, int]]:
    """How many rows each table has."""
    tables = connection.execute(
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name"
    ).fetchall()
    return [
        (str(name), int(str(connection.execute(f'SELECT count(*) FROM "{name}"').get)))
        for (name,) in tables
    ]


@contextmanager
def _held_alone(real: str) -> Iterator[apsw.VFSFile]:
    """The vault's bytes, with SQLite's exclusive lock on them whatever they are just now."""
    flags = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READWRITE
    vault = apsw.VFSFile(RAW_VFS, real, [flags, 0])
    try:
        deadline = time.monotonic() + FINISH_SECONDS
        while not _locked_alone(vault):
            if time.monotonic() > deadline:
                raise StoreError(
                    f"The vault {real} is in the middle of a change of its key, and another "
                    "process holds it; stop that process and try again."
                )
            time.sleep(0.02)
        yield vault
    finally:
        with suppress(apsw.Error):
            vault.xUnlock(apsw.SQLITE_LOCK_NONE)
        vault.xClose()


def _locked_alone(vault: apsw.VFSFile) -> bool:
    steps = (apsw.SQLITE_LOCK_SHARED, apsw.SQLITE_LOCK_RESERVED, apsw.SQLITE_LOCK_EXCLUSIVE)
    try:
        for step in steps:
            vault.xLock(step)
    except apsw.BusyError:
        vault.xUnlock(apsw.SQLITE_LOCK_NONE)
        return False
    return True


def _overwrite(vault: apsw.VFSFile, coming: Path) -> None:
    """The copy's bytes in the vault's place; what was longer is overwritten, too. The first page
    is wiped first and written last: half a copy is no database, to nobody."""
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


def _remove(copy: Path) -> None:
    for ending in ("", "-journal", "-wal", "-shm"):
        Path(f"{copy}{ending}").unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """A new name is on the disk once its folder is."""
    if os.name == "nt":
        return  # a folder cannot be opened there
    held = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(held)
    finally:
        os.close(held)
