"""SQLite's exclusive lock on a vault, for whoever replaces or removes its bytes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import apsw

from recollect.errors import StoreError

IN_USE = (
    "Another process is using the vault {path}; stop it (`recollect serve`, `recollect mcp`) and "
    "try again."
)
# SQLite's own way to the disk, below the cipher.
RAW_VFS = "win32" if os.name == "nt" else "unix"


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
