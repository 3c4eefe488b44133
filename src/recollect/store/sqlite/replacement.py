"""Replacing the content of a vault's file: by its own under another key (setting one, changing it,
removing it), by a backup, or by the result of a repair.

1. Under SQLite's exclusive lock, the new content is written into a file beside the vault. That
   file is checked and then renamed: from then on the change is decided.
2. The renamed file is copied over the vault, again under the exclusive lock, and removed. Any
   process that opens the vault while that file exists does this first. So a kill at any moment
   leaves a vault that opens: with the old key before the renaming, with the new one after it.

The vault stays the same file throughout. Renaming the copy over it would leave processes that wait
for its lock with the old file and the new log.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw

from recollect.errors import StoreError
from recollect.files import remove_database, replace_file, sync_folder
from recollect.store.sqlite.errors import refuse_damaged, remove_note
from recollect.store.sqlite.snapshot import row_counts, writing
from recollect.store.sqlite.vault_files import (
    CIPHER,
    COPY,
    HEADER_BYTES,
    IN_USE,
    MAGIC,
    NEXT,
    SPOOLS,
    Sealed,
    exclusive,
    give_key,
    header_of,
    is_copy_left,
    is_key_change_pending,
    real_path,
    uri_without_log,
    vault_id,
)

PAGE = 4096
NOTE = b"rekeyed copy of "
NOTE_BYTES = len(NOTE) + 2 * HEADER_BYTES
CHUNK = 1 << 16  # bytes: SQLite's largest page
# Running commands end within this time; servers do not and must be stopped first.
ALONE_SECONDS = 5.0
# As long as a command waits for others: a process that has the vault open sees the change soon.
FINISH_SECONDS = 60.0
BEING_CHANGED = (
    "The key of the vault {path} is being changed, and another process has the vault open; stop "
    "that process and try again."
)
CHANGED = "Another process has just changed the key of the vault {path}; nothing was done here."
try:
    import fcntl
except ImportError:  # Windows, where a file that is open can be neither removed nor replaced
    fcntl = None  # type: ignore[assignment]

# Every process with the vault open holds a lock on this byte of the log's index, as SQLite's
# os_unix.c has it: UNIX_SHM_DMS.
LOG_IN_USE_AT = 128


def new_header(scheme: int) -> bytes:
    """Return a header with 96 random bits, so that no other vault has the same."""
    return MAGIC + bytes([scheme]) + os.urandom(HEADER_BYTES - len(MAGIC) - 1)


def change_key(path: Path, old: bytes | None, new: Sealed | None) -> None:
    """Encrypt the vault, decrypt it, or change its key; no other process may have it open."""
    real = real_path(path)
    refuse_damaged(real)
    copy = Path(real + COPY)
    with closing(_open_alone(path, old)) as connection:
        if is_key_change_pending(real):
            raise StoreError(CHANGED.format(path=path))
        try:
            _copy_under(connection, copy, new)
            _check(connection, copy, new)
            _, begin = connection.read("main", 0, 0, HEADER_BYTES)
            add_note(copy, begin, real)
        except BaseException:
            remove_database(copy)
            raise
        copy.replace(real + NEXT)
        sync_folder(copy.parent)
    finish(real)


def finish(real: str) -> None:
    """Copy the file under the new key over the vault, if there is such a file."""
    if not is_key_change_pending(real):
        return
    coming = Path(real + NEXT)
    with exclusive(real, FINISH_SECONDS, BEING_CHANGED) as vault:
        if not is_key_change_pending(real):  # another process has done it while we waited
            return
        _check_origin(vault, real, coming)
        install(vault, real, coming)


def install(vault: apsw.VFSFile, real: str, coming: Path) -> None:
    """Copy the file, which has its note, over the vault, which is locked, and remove it."""
    for ending in ("-wal", "-shm", "-journal"):  # they belong to the old content
        Path(real + ending).unlink(missing_ok=True)
    sync_folder(coming.parent)
    _overwrite(vault, coming)
    remove_note(real)
    coming.unlink()
    sync_folder(coming.parent)


def _check_origin(vault: apsw.VFSFile, real: str, coming: Path) -> None:
    """Refuse a copy that was not made for this vault: it must not overwrite the vault."""
    begin = begin_of(vault)
    with coming.open("rb") as stream:
        first = stream.read(PAGE)
        stream.seek(max(0, coming.stat().st_size - NOTE_BYTES))
        note = stream.read()
    half_copied = begin.startswith(note) and note.startswith(NOTE)
    if not half_copied and begin != first and note != _copy_note(begin, real):
        raise StoreError(
            f"The file {coming} does not belong to the vault {real}; move it away and try again."
        )


def begin_of(vault: apsw.VFSFile) -> bytes:
    """Return the vault's first page; empty if it has none."""
    return vault.xRead(PAGE, 0) if vault.xFileSize() >= PAGE else b""


def add_note(copy: Path, begin: bytes, real: str) -> None:
    """Note at the end of a copy which vault it is to overwrite, and write it to the disk."""
    with copy.open("ab") as stream:
        stream.write(_copy_note(begin, real))
        stream.flush()
        os.fsync(stream.fileno())


def _copy_note(begin: bytes, real: str) -> bytes:
    """Return the note that ends a copy, and begins the vault while it is copied: the vault's
    identity. A locked vault is known by its header, an open one by its id."""
    if begin.startswith(MAGIC):
        known = begin[:HEADER_BYTES].hex()
    else:
        flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        with closing(apsw.Connection(uri_without_log(real), flags)) as connection:
            known = vault_id(connection) or ""
    return NOTE + known.encode().ljust(NOTE_BYTES - len(NOTE))


def tidy(real: str) -> None:
    """Remove the copy of an interrupted change; no process makes one while the vault is open."""
    if is_copy_left(real):
        remove_database(Path(real + COPY))


def _open_alone(path: Path, key: bytes | None) -> apsw.Connection:
    """Return a connection with the exclusive lock until it is closed, and without a log file."""
    deadline = time.monotonic() + ALONE_SECONDS
    while True:
        connection = apsw.Connection(str(path), apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_URI)
        try:
            if key is not None:
                give_key(connection, key)
            connection.pragma("journal_mode", "DELETE")  # fails if another process has it open
            connection.pragma("locking_mode", "EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")
            if connection.pragma("journal_mode") == "delete":  # no process opened it meanwhile
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
    """Check that the copy is complete and switch it to WAL."""
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


def _overwrite(vault: apsw.VFSFile, coming: Path) -> None:
    """Write the copy's bytes over the vault's, and zeros over the rest. The first page holds the
    copy's note meanwhile and is written last, so that half a copy is never taken for a vault."""
    before, after = vault.xFileSize(), coming.stat().st_size - NOTE_BYTES
    with coming.open("rb") as stream:
        first = stream.read(PAGE)
        stream.seek(after)
        vault.xWrite(stream.read().ljust(PAGE, b"\0"), 0)
        vault.xSync(apsw.SQLITE_SYNC_FULL)
        stream.seek(PAGE)
        for place in range(PAGE, after, CHUNK):
            vault.xWrite(stream.read(min(CHUNK, after - place)), place)
    for place in range(after, before, CHUNK):
        vault.xWrite(bytes(min(CHUNK, before - place)), place)
    vault.xSync(apsw.SQLITE_SYNC_FULL)
    vault.xTruncate(after)
    vault.xWrite(first, 0)
    vault.xSync(apsw.SQLITE_SYNC_FULL)


def replace_vault(path: Path, aside: Path, write: Callable[[Path], object]) -> Path | None:
    """Replace the vault at `path`, in any state, by the file that `write` makes at the path it is
    given. First copy the old one to `aside`; return that, or None if it was empty. No process may
    have the vault open."""
    real = real_path(path)
    made = _create_missing(real)
    try:
        finish(real)
        with exclusive(real, ALONE_SECONDS, IN_USE) as vault:
            if _log_in_use(real):
                raise StoreError(IN_USE.format(path=path))
            kept = _copy_aside(vault, real, aside)
            copy = Path(real + COPY)
            write(copy)
            add_note(copy, begin_of(vault), real)
            copy.replace(real + NEXT)
            sync_folder(copy.parent)
            install(vault, real, Path(real + NEXT))
            for ending in SPOOLS:  # their keys belong to other memories now
                Path(f"{path}{ending}").unlink(missing_ok=True)
            return kept
    finally:
        if made and not Path(real).stat().st_size:
            Path(real).unlink()


def _create_missing(real: str) -> bool:
    """Create the file if it is missing, so that it can be locked; return whether it was."""
    try:
        os.close(os.open(real, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    return True


def _log_in_use(real: str) -> bool:
    """Return True if a process uses the log, even if it opened another file at the vault's path."""
    if fcntl is None:
        return False
    try:
        handle = os.open(real + "-shm", os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, LOG_IN_USE_AT)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False


def _copy_aside(vault: apsw.VFSFile, real: str, aside: Path) -> Path | None:
    """Copy the vault's bytes, and the log or journal that a killed process left, unchanged."""
    size = vault.xFileSize()
    if not size:
        return None
    for ending in ("-wal", "-journal"):
        log = Path(real + ending)
        if log.exists() and log.stat().st_size:
            beside = aside.with_name(aside.name + ending)
            with writing(beside), log.open("rb") as old, replace_file(beside) as (_, new):
                while chunk := old.read(CHUNK):
                    new.write(chunk)
    with writing(aside), replace_file(aside) as (_, new):
        for place in range(0, size, CHUNK):
            new.write(vault.xRead(min(CHUNK, size - place), place))
    return aside
