"""Locking a vault, giving it another key, and decrypting it for good."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from recollect.errors import UserError
from recollect.store.sqlite.cipher import KeySource, Sealed, header_at
from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.errors import as_store_errors
from recollect.store.sqlite.replacement import change_key
from recollect.vaults.keys import forget_in_keyring


def lock_vault(path: Path, keys: KeySource, new: Callable[[], Sealed]) -> None:
    """Encrypt an open vault, which is made where there is none. `new` is asked for the key once it
    is clear that it is needed."""
    if _opened(path, keys) is not None:
        raise UserError("The vault is locked already; `recollect vault rekey` changes its key.")
    _change(path, None, new())


def rekey_vault(path: Path, keys: KeySource, new: Callable[[], Sealed]) -> None:
    """Encrypt a locked vault anew under another key, with another salt."""
    old = _opened(path, keys)
    if old is None:
        raise UserError("The vault is not locked; `recollect vault lock` locks it.")
    _change(path, old, new())


def unlock_vault(path: Path, keys: KeySource) -> None:
    """Decrypt a locked vault for good."""
    old = _opened(path, keys)
    if old is None:
        raise UserError("The vault is not locked.")
    _change(path, old, None)


def _opened(path: Path, keys: KeySource) -> Sealed | None:
    """What the vault is locked with. It is opened once, so that what is written anew is a vault of
    this version, and the passphrase the right one."""
    found: list[Sealed] = []

    def remembered(place: Path, header: bytes) -> bytes:
        key = keys(place, header)
        found[:] = [Sealed(key, header)]
        return key

    database = Database(path, remembered)
    database.close()
    if database.frozen:
        raise UserError(f"The vault {path} is read-only, so its key cannot be changed.")
    return found[0] if found else None


def _change(path: Path, old: Sealed | None, new: Sealed | None) -> None:
    with as_store_errors(path):
        change_key(path, old.key if old else None, new)
        done = header_at(path)
    if old is not None and done != old.header:
        forget_in_keyring(old.header)
