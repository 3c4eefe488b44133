"""Locked vaults: files that SQLite encrypts as a whole.

The cipher is SQLite3 Multiple Ciphers' ChaCha20-Poly1305, page by page: the pages of the database,
of its log and of its journals are encrypted and authenticated. It keeps 16 bytes in clear at the
beginning of the file, where an open database says "SQLite format 3". With a key that is given raw
these bytes are ours: they say that this is a locked vault, how its key is made, and hold the salt.
So everything that a passphrase needs stands in the one file, and changes together with it.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import apsw

CIPHER = "chacha20"
MAGIC = b"RCL"  # then one byte: how the key is made; then twelve that are random
HEADER_BYTES = 16
KEY_BYTES = 32
# Beside the vault, while its key is changed (see `rekey.py`):
COPY = "-rekeying"  # a copy under the new key that is being made; without worth until it is renamed
NEXT = "-rekeyed"  # the whole copy that the vault is to become

# Gives the key for a header, or raises Locked.
KeySource = Callable[[Path, bytes], bytes]


def header_of(connection: apsw.Connection) -> bytes | None:
    """A locked vault's header; None for any other file. It is read through SQLite, before a key is
    given: to open and close the file beside SQLite would give up the locks of this process."""
    _, held = connection.read("main", 0, 0, HEADER_BYTES)
    return held if len(held) == HEADER_BYTES and held.startswith(MAGIC) else None


def header_at(path: Path) -> bytes | None:
    """The same for a file that is there."""
    with closing(apsw.Connection(str(path), apsw.SQLITE_OPEN_READONLY)) as connection:
        return header_of(connection)


def give_key(connection: apsw.Connection, key: bytes) -> None:
    """What this connection reads and writes is encrypted from here on, and what SQLite puts aside
    (sorting, undoing a statement) stays in memory."""
    connection.pragma("cipher", CIPHER)
    connection.pragma("key", f"raw:{key.hex()}")
    connection.execute("PRAGMA temp_store = MEMORY")


def real_path(path: Path) -> str:
    """SQLite, too, puts its files beside the file that a link leads to."""
    return os.path.realpath(path)


def pending(real: str) -> bool:
    """Whether a change of the key has been decided and not been finished."""
    return os.access(real + NEXT, os.F_OK)


def left_over(real: str) -> bool:
    """Whether a killed change left a copy that is of no use."""
    return os.access(real + COPY, os.F_OK)
