"""Backups of a vault: making them, checking them, putting one in the vault's place."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path

from msgspec import Struct

from recollect.auth.access import HomeAccess
from recollect.auth.audit import Audit
from recollect.auth.capabilities import ADMIN, OWNER
from recollect.checks import refuse_link
from recollect.engine.opening import make_home
from recollect.engine.operations import operation
from recollect.engine.session import NOT_IN_FILE, Session
from recollect.errors import StoreError, UserError
from recollect.files import locked_folder
from recollect.settings_reading import home_folder, load_settings
from recollect.store.sqlite.errors import as_store_errors
from recollect.store.sqlite.replacement import replace_vault
from recollect.store.sqlite.snapshot import (
    Progress,
    VaultFile,
    VaultSummary,
    backup_folder,
    dated_file,
    is_backup,
    path_aside,
    problem,
    reading,
    write_copy,
)
from recollect.store.sqlite.vault_files import KeySource, header_at
from recollect.vaults.keys import Keys
from recollect.vaults.known import HOME

# Said for a vault in a database.
BY_OPERATORS = "pg_dump and pgBackRest make backups"


class Backup(Struct, frozen=True, kw_only=True):
    """A backup that was made: its file, what it holds, and the older ones removed for it."""

    file: Path
    holds: VaultSummary
    removed: Sequence[Path]


class Restored(Struct, frozen=True, kw_only=True):
    """A restored vault. `replaced`: the file that keeps the vault from before, if there was one;
    `unlocked`: that vault was locked, and this one is not."""

    vault: Path
    holds: VaultSummary
    replaced: Path | None
    unlocked: bool


@operation(ADMIN)
def backup(
    session: Session,
    file: str | os.PathLike[str] | None = None,
    *,
    keep: int | None = None,
    progress: Progress = lambda copied: None,
) -> Backup:
    """Copy the vault to a file, mode 0600, under the same key, while others write to it. The
    file appears when the copy is verified: SQLite's check, the number of rows, each memory.

    `file` may be a folder; the default is `backups` next to the vault. In a folder the file is
    named by date and time, and `keep` removes all but that many backups of this vault.
    """
    database = session.sqlite_store("`recollect backup`", BY_OPERATORS).database
    mark = session.mark("backup")[:8]  # which vault it is of: two may share a folder
    target = Path(file) if file is not None else backup_folder(session.path)
    dated = target.is_dir()
    if keep is not None and keep < 1:
        raise UserError("keep must be 1 or more.")
    if keep is not None and not dated:
        raise UserError(f"{target} is not a folder. Backups are kept and removed in a folder only.")
    # Two processes must not choose the same dated name.
    with locked_folder(target) if dated else nullcontext(), database.translate_errors():
        if dated:
            target = dated_file(target, session.path, mark, session.clock())
        _check_target(target, session.path)
        source = VaultFile(database.connection(), database.sealed)
        holds = write_copy(source, target, name=session.path.name, progress=progress)
    session.wrote("backup")
    same = f"{session.path.stem}-{mark}"
    removed = _remove_older(target, same, keep) if keep is not None else []
    return Backup(file=target, holds=holds, removed=removed)


def check_backup(file: Path, *, environment: Mapping[str, str] = os.environ) -> VaultSummary:
    """Verify a backup and return what it holds; raise StoreError if it is damaged. Nothing is
    written, and the home needs no vault."""
    home = home_folder(environment)
    with _open_verified(file, Keys(load_settings(home, environment).vault, environment)) as opened:
        return opened.summary()


def restore_vault(
    file: Path,
    *,
    environment: Mapping[str, str] = os.environ,
    progress: Progress = lambda copied: None,
) -> Restored:
    """Replace the home's vault, which may be missing or damaged, with a backup, and keep the old
    file. The backup is verified first. Refused while another process has the vault open."""
    home = home_folder(environment)
    vault = home / "vault.db"
    settings = load_settings(home, environment)
    if settings.store.url:
        raise UserError(NOT_IN_FILE.format(what="`restore --from`", alternative=BY_OPERATORS))
    keys = Keys(settings.vault, environment)
    if vault.exists() and file.exists() and vault.samefile(file):
        raise UserError(f"{file} is the vault itself. Name a backup of it.")
    with _open_verified(file, keys) as opened:
        make_home(home)
        aside = path_aside(vault, "replaced")
        write = partial(write_copy, opened, check=lambda connection: None, progress=progress)
        with as_store_errors(vault):
            replaced = replace_vault(vault, aside, write)
        holds = opened.summary()
    Audit(HomeAccess(home)).log_write(OWNER, "restore", HOME, holds.memories)
    was_locked = replaced is not None and header_at(replaced) is not None
    unlocked = was_locked and not holds.locked
    return Restored(vault=vault, holds=holds, replaced=replaced, unlocked=unlocked)


@contextmanager
def _open_verified(file: Path, keys: KeySource) -> Iterator[VaultFile]:
    """Open the file for reading and verify it."""
    if not file.is_file():
        raise UserError(f"{file} is not a file." if file.exists() else f"There is no file {file}.")
    with as_store_errors(file), reading(file, keys) as opened:
        if wrong := problem(opened.connection):
            raise StoreError(f"{file} is damaged ({wrong}). Use another backup.")
        yield opened


def _check_target(file: Path, vault: Path) -> None:
    """Raise UserError if a backup must not replace this file."""
    refuse_link(file)
    if not file.exists():
        return
    if file.samefile(vault):
        raise UserError(f"{file} is the vault itself. Name another file.")
    if not file.is_file() or not is_backup(file):
        raise UserError(f"{file} is there and is not a backup, so it stays. Name another file.")


def _remove_older(newest: Path, name: str, keep: int) -> list[Path]:
    """Remove the older backups in the folder whose names begin with `name`; return their files."""
    same = re.compile(rf"{re.escape(name)}-(\d{{8}}T\d{{6}}Z)(?:-(\d+))?\.db")
    matches = [(same.fullmatch(file.name), file) for file in newest.parent.iterdir()]
    found = sorted((match[1], int(match[2] or 1), file) for match, file in matches if match)
    older = [file for *_, file in found[:-keep] if file != newest and not file.is_symlink()]
    for file in older:
        file.unlink()
    return older
