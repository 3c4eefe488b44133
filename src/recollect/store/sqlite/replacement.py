"""Putting another vault in the place of one: a backup, or what a repair made.

As with a change of the key (`rekey.py`), the vault stays the same file: under SQLite's exclusive
lock its content is replaced by that of a checked copy beside it, and whoever opens the vault after
a kill in between finishes that first.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw

from recollect.errors import StoreError
from recollect.files import new_beside, sync_folder
from recollect.store.sqlite.cipher import COPY, NEXT, real_path
from recollect.store.sqlite.rekey import (
    ALONE_SECONDS,
    CHUNK,
    add_note,
    begin_of,
    finish,
    install,
)
from recollect.store.sqlite.snapshot import writing
from recollect.store.sqlite.usage import SPOOLS
from recollect.store.sqlite.vault_files import IN_USE, exclusive

try:
    import fcntl
except ImportError:  # Windows, where a file that is open can be neither removed nor replaced
    fcntl = None  # type: ignore[assignment]

# Every process with the vault open holds a lock on this byte of the log's index, as SQLite's
# os_unix.c has it: UNIX_SHM_DMS.
LOG_IN_USE_AT = 128


def replace_vault(path: Path, aside: Path, write: Callable[[Path], object]) -> Path | None:
    """Replace the vault at `path`, whatever there is of it, by the file that `write` makes under
    the name it is given. What it was is first copied to `aside`; returns that, or None if there was
    nothing. No process may have the vault open."""
    real = real_path(path)
    made = _created(real)
    try:
        finish(real)
        with exclusive(real, ALONE_SECONDS, IN_USE) as vault:
            if _log_in_use(real):
                raise StoreError(IN_USE.format(path=path))
            kept = _keep(vault, real, aside)
            copy = Path(real + COPY)
            write(copy)
            add_note(copy, begin_of(vault), real)
            copy.replace(real + NEXT)
            sync_folder(copy.parent)
            install(vault, real, Path(real + NEXT))
            for ending in SPOOLS:  # their numbers are of other memories now
                Path(f"{path}{ending}").unlink(missing_ok=True)
            return kept
    finally:
        if made and not Path(real).stat().st_size:
            Path(real).unlink()


def _created(real: str) -> bool:
    """Make the file where it is missing, so that it can be locked; return whether it was."""
    try:
        os.close(os.open(real, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        return False
    return True


def _log_in_use(real: str) -> bool:
    """Whether a process uses the log beside the vault. It may have another file open than the one
    that is now at the vault's path."""
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


def _keep(vault: apsw.VFSFile, real: str, aside: Path) -> Path | None:
    """Copy the vault's bytes, and the log or journal that a killed process left, as they are."""
    size = vault.xFileSize()
    if not size:
        return None
    for ending in ("-wal", "-journal"):
        log = Path(real + ending)
        if log.exists() and log.stat().st_size:
            beside = aside.with_name(aside.name + ending)
            with writing(beside), log.open("rb") as old, new_beside(beside) as (_, new):
                shutil.copyfileobj(old, new)
    with writing(aside), new_beside(aside) as (_, new):
        for place in range(0, size, CHUNK):
            new.write(vault.xRead(min(CHUNK, size - place), place))
    return aside
