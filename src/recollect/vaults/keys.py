"""The key of a locked vault: made from a passphrase with Argon2id, or kept in the system's keyring;
and changing it.

A locked vault's first 16 bytes say which (see `store/sqlite/cipher.py`). They are the salt as well,
so two vaults with the same passphrase have different keys. Nothing that could be checked against a
guess is stored beside: whether a key fits, the first page says.
"""

from __future__ import annotations

import os
import sys
import unicodedata
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from recollect.errors import Locked, StoreError, UserError
from recollect.settings import LockSettings
from recollect.store.sqlite.cipher import KEY_BYTES, MAGIC, KeySource, Sealed, header_at
from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.errors import as_store_errors
from recollect.store.sqlite.replacement import change_key, new_header

SERVICE = "recollect"  # whose entries they are, in the keyring
SHORTEST = 8  # characters; what is shorter is found by trying, however slow one try is


class Argon2id(NamedTuple):
    """How much one try costs: passes over so much memory, in so many lanes."""

    passes: int
    memory_kib: int
    lanes: int


# By the number in the header; a vault keeps its own until it is rekeyed. Source: RFC 9106, section
# 4, the second recommended option: every command pays for it, and 64 MiB any machine has.
SCHEMES = {1: Argon2id(passes=3, memory_kib=64 * 1024, lanes=4)}
PASSPHRASE = 1
KEYRING = 255


def scheme_of(header: bytes) -> int:
    return header[len(MAGIC)]


def described(header: bytes) -> str:
    """How the key is made, in words."""
    scheme = scheme_of(header)
    if scheme == KEYRING:
        return "a random key in the system's keyring"
    if scheme in SCHEMES:
        passes, memory, lanes = SCHEMES[scheme]
        return f"a passphrase (Argon2id, {memory // 1024} MiB, {passes} passes, {lanes} lanes)"
    return "a way that this version does not know"


class Keys:
    """Where the key comes from, for whoever opens a vault. A terminal is asked once: a server that
    has let go of the key must not stop to ask again."""

    def __init__(
        self,
        settings: LockSettings,
        environment: Mapping[str, str],
        passphrase: str | None = None,
        *,
        asked: bool = False,
    ) -> None:
        self._settings = settings
        self._environment = environment
        self._passphrase = passphrase
        self._asked = asked

    def __call__(self, path: Path, header: bytes) -> bytes:
        return _key(path, header, self._passphrase_of)

    def _passphrase_of(self, path: Path) -> str:
        passphrase = self.configured()
        return self._typed(path) if passphrase is None else passphrase

    def configured(self) -> str | None:
        """The passphrase, where nobody need be asked: as an argument, in a file, in the
        environment."""
        if self._passphrase is not None:
            return self._passphrase
        if self._settings.passphrase_file:
            return read_passphrase(self._settings.passphrase_file)
        return self._environment.get(self._settings.passphrase_env) or None

    def _typed(self, path: Path) -> str:
        name = self._settings.passphrase_env
        if self._asked:
            raise Locked(
                f"The vault {path} is locked again, since nothing was asked of it for "
                f"{self._settings.idle_minutes:g} minutes; unlock it on a server's page, or "
                "restart this process with the passphrase."
            )
        if not on_terminal():
            raise Locked(
                f"The vault {path} is locked; give its passphrase in the variable {name}, in a "
                "file (`recollect --passphrase-file FILE …`), or on a terminal."
            )
        self._asked = True
        return typed(f"Passphrase of {path}: ")


def other_keys(variable: str, environment: Mapping[str, str]) -> KeySource:
    """Where the key of a vault beside one's own comes from: the keyring, or the passphrase in this
    variable. Nobody is asked: a search goes on without that vault."""

    def passphrase(path: Path) -> str:
        if not variable:
            raise Locked(
                f"The vault {path} is locked; its passphrase_env in the settings names the "
                "variable that holds its passphrase."
            )
        if not (value := environment.get(variable)):
            raise Locked(f"The vault {path} is locked; put its passphrase into {variable}.")
        return value

    return lambda path, header: _key(path, header, passphrase)


def _key(path: Path, header: bytes, passphrase_of: Callable[[Path], str]) -> bytes:
    scheme = scheme_of(header)
    if scheme == KEYRING:
        return _from_keyring(path, header)
    if scheme not in SCHEMES:
        raise StoreError(f"The vault {path} was locked by a newer Recollect; install that one.")
    return derived(passphrase_of(path), header)


def derived(passphrase: str, header: bytes) -> bytes:
    """The key of this passphrase for the vault with this header."""
    from argon2.low_level import Type, hash_secret_raw  # noqa: PLC0415  start-up time

    passes, memory, lanes = SCHEMES[scheme_of(header)]
    # The same signs are the same passphrase, however the keyboard composes them.
    secret = unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogateescape")
    return hash_secret_raw(secret, header, passes, memory, lanes, KEY_BYTES, Type.ID)


def sealed_with(passphrase: str) -> Sealed:
    """A new header, and the key of this passphrase for it."""
    if len(passphrase) < SHORTEST:
        raise UserError(f"The passphrase is too short; use {SHORTEST} characters or more.")
    header = new_header(PASSPHRASE)
    return Sealed(derived(passphrase, header), header)


def sealed_in_keyring(path: Path) -> Sealed:
    """A random key, kept in the keyring before anything is locked with it."""
    sealed = Sealed(os.urandom(KEY_BYTES), new_header(KEYRING))
    keyring = _keyring(path)
    try:
        keyring.set_password(SERVICE, sealed.header.hex(), sealed.key.hex())
        kept = keyring.get_password(SERVICE, sealed.header.hex())
    except keyring.errors.KeyringError as error:
        raise UserError(f"The system's keyring cannot be used: {_first_line(error)}.") from error
    if kept != sealed.key.hex():
        raise UserError("The system's keyring does not keep what it is given; use a passphrase.")
    return sealed


def forget_in_keyring(header: bytes) -> None:
    """The key of a vault that is locked with it no longer; one that is not there is no loss."""
    if scheme_of(header) == KEYRING:
        keyring = _keyring(Path())
        try:
            keyring.delete_password(SERVICE, header.hex())
        except keyring.errors.KeyringError:
            return


def _from_keyring(path: Path, header: bytes) -> bytes:
    keyring = _keyring(path)
    try:
        kept = keyring.get_password(SERVICE, header.hex())
    except keyring.errors.KeyringError as error:
        raise Locked(
            f"The vault {path} is locked, and the system's keyring cannot be asked for its key: "
            f"{_first_line(error)}."
        ) from error
    if kept is None:
        raise Locked(f"The vault {path} is locked, and its key is not in the system's keyring.")
    return bytes.fromhex(kept)


def _keyring(path: Path) -> Any:
    try:
        import keyring  # noqa: PLC0415  an extra, and start-up time
        import keyring.errors  # noqa: PLC0415  start-up time
    except ImportError as error:
        raise Locked(
            f"The key of the vault {path} belongs in the system's keyring; install "
            "recollect-memory[keyring] to use it."
        ) from error
    return keyring


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200].rstrip(".") or type(error).__name__


def read_passphrase(name: str) -> str:
    """The first line of a file."""
    try:
        text = Path(name).expanduser().read_bytes().decode()
    except OSError as error:
        raise UserError(f"The passphrase file {name} cannot be read: {error.strerror}.") from error
    except UnicodeDecodeError as error:
        raise UserError(f"The passphrase file {name} is not valid UTF-8 text.") from error
    line = (text.splitlines() or [""])[0]
    if not line:
        raise UserError(f"The passphrase file {name} is empty.")
    return line


def on_terminal() -> bool:
    """Whether there is a person to ask; a program that talks to us is not asked."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def typed(prompt: str) -> str:
    from getpass import getpass  # noqa: PLC0415  start-up time: only for locked vaults

    try:
        return getpass(prompt, stream=sys.stderr)
    except EOFError as error:
        raise Locked("No passphrase was given, so the vault stays locked.") from error


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
