"""Keys of locked vaults: derive them from a passphrase with Argon2id or keep them in the system's
keyring; lock, rekey and unlock a vault.

A locked vault's first 16 bytes say which (see `store/sqlite/vault_files.py`). They are the salt as
well, so two vaults with the same passphrase have different keys. No hash of the passphrase is
stored: a key is right if it decrypts the first page.
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
from recollect.store.sqlite.connection import Database
from recollect.store.sqlite.errors import as_store_errors
from recollect.store.sqlite.replacement import change_key, new_header
from recollect.store.sqlite.vault_files import KEY_BYTES, MAGIC, KeySource, Sealed, header_at

SERVICE = "recollect"  # the owner of our entries in the keyring
SHORTEST = 8  # characters; a shorter one can be guessed, however slow each try is


class Argon2id(NamedTuple):
    """The cost of one try: passes over an amount of memory, in parallel lanes."""

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


def describe_key(header: bytes) -> str:
    """Describe in words where the key comes from."""
    scheme = scheme_of(header)
    if scheme == KEYRING:
        return "a random key in the system's keyring"
    if scheme in SCHEMES:
        passes, memory, lanes = SCHEMES[scheme]
        return f"a passphrase (Argon2id, {memory // 1024} MiB, {passes} passes, {lanes} lanes)"
    return "a way that this version does not know"


class Keys:
    """Finds the key of the user's own vault, from the keyring or a passphrase.

    The terminal prompts only once: a server that has dropped the key must not block on a prompt.
    """

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
        passphrase = self.configured_passphrase()
        return self._prompt(path) if passphrase is None else passphrase

    def configured_passphrase(self) -> str | None:
        """Return the passphrase from the argument, the file or the environment, if any."""
        if self._passphrase is not None:
            return self._passphrase
        if self._settings.passphrase_file:
            return read_passphrase(self._settings.passphrase_file)
        return self._environment.get(self._settings.passphrase_env) or None

    def _prompt(self, path: Path) -> str:
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
        return prompt_passphrase(f"Passphrase of {path}: ")


def other_keys(variable: str, environment: Mapping[str, str]) -> KeySource:
    """Return a key source for another vault: the keyring, or the passphrase in this variable.

    It never prompts: a search goes on without that vault.
    """

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
    return derive_key(passphrase_of(path), header)


def derive_key(passphrase: str, header: bytes) -> bytes:
    """Derive the key of the vault with this header."""
    from argon2.low_level import Type, hash_secret_raw  # noqa: PLC0415  start-up time

    passes, memory, lanes = SCHEMES[scheme_of(header)]
    # One passphrase may be composed differently by different keyboards.
    secret = unicodedata.normalize("NFC", passphrase).encode("utf-8", "surrogateescape")
    return hash_secret_raw(secret, header, passes, memory, lanes, KEY_BYTES, Type.ID)


def sealed_with(passphrase: str) -> Sealed:
    """Return a new header and its key, derived from this passphrase."""
    if len(passphrase) < SHORTEST:
        raise UserError(f"The passphrase is too short; use {SHORTEST} characters or more.")
    header = new_header(PASSPHRASE)
    return Sealed(derive_key(passphrase, header), header)


def sealed_in_keyring(path: Path) -> Sealed:
    """Return a new header and a random key that the keyring already holds."""
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
    """Delete the key of a vault that no longer uses it; a missing one is ignored."""
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
    """Return the first line of a file."""
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
    """Return True if a person can be prompted."""
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def prompt_passphrase(prompt: str) -> str:
    from getpass import getpass  # noqa: PLC0415  start-up time: only for locked vaults

    try:
        return getpass(prompt, stream=sys.stderr)
    except EOFError as error:
        raise Locked("No passphrase was given, so the vault stays locked.") from error


def lock_vault(path: Path, keys: KeySource, new: Callable[[], Sealed]) -> None:
    """Encrypt an unlocked vault, creating it if needed. `new` is called only if it is unlocked."""
    if _current_seal(path, keys) is not None:
        raise UserError("The vault is locked already; `recollect vault rekey` changes its key.")
    _change(path, None, new())


def rekey_vault(path: Path, keys: KeySource, new: Callable[[], Sealed]) -> None:
    """Encrypt a locked vault with another key and salt."""
    old = _current_seal(path, keys)
    if old is None:
        raise UserError("The vault is not locked; `recollect vault lock` locks it.")
    _change(path, old, new())


def unlock_vault(path: Path, keys: KeySource) -> None:
    """Decrypt a locked vault permanently."""
    old = _current_seal(path, keys)
    if old is None:
        raise UserError("The vault is not locked.")
    _change(path, old, None)


def _current_seal(path: Path, keys: KeySource) -> Sealed | None:
    """Return the vault's header and key, or None if it is not locked.

    Opening it checks the passphrase and migrates the vault to this version.
    """
    seals: list[Sealed] = []

    def remember_key(place: Path, header: bytes) -> bytes:
        key = keys(place, header)
        seals[:] = [Sealed(key, header)]
        return key

    database = Database(path, remember_key)
    database.close()
    if database.frozen:
        raise UserError(f"The vault {path} is read-only, so its key cannot be changed.")
    return seals[0] if seals else None


def _change(path: Path, old: Sealed | None, new: Sealed | None) -> None:
    with as_store_errors(path):
        change_key(path, old.key if old else None, new)
        done = header_at(path)
    if old is not None and done != old.header:
        forget_in_keyring(old.header)
