"""Locked vaults: files that SQLite encrypts as a whole.

The cipher is SQLite3 Multiple Ciphers' ChaCha20-Poly1305, page by page: the pages of the database,
of its log and of its journals are encrypted and authenticated. It keeps 16 bytes in clear at the
beginning of the file, where an open database says "SQLite format 3". With a key that is given raw
these bytes are ours: they say that this is a locked vault, how its key is made, and hold the salt.
So the file itself holds everything that a passphrase needs, and both change together.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import apsw

CIPHER = "chacha20"
MAGIC = b"RCL"  # then one byte: how the key is made; then twelve that are random
HEADER_BYTES = 16
KEY_BYTES = 32
# Files next to the vault while its key is changed (see `replacement.py`):
COPY = "-rekeying"  # an unfinished copy under the new key; of no use until it is renamed
NEXT = "-rekeyed"  # the finished copy, whose content replaces the vault's


class Sealed(NamedTuple):
    """The key and the header that lock a vault."""

    key: bytes
    header: bytes


WRONG_PASSPHRASE = "The passphrase of the vault {path} is wrong; check it and try again."

# Returns the key for a vault's header, or raises Locked.
KeySource = Callable[[Path, bytes], bytes]


def header_of(connection: apsw.Connection) -> bytes | None:
    """Return a locked vault's header; None for any other file. It is read through SQLite before the
    key is set: opening and closing the file in another way would drop the locks of this process."""
    _, header = connection.read("main", 0, 0, HEADER_BYTES)
    return header if len(header) == HEADER_BYTES and header.startswith(MAGIC) else None


def header_at(path: Path) -> bytes | None:
    """Return the header of the locked vault at this path; None for any other file."""
    with closing(apsw.Connection(str(path), apsw.SQLITE_OPEN_READONLY)) as connection:
        return header_of(connection)


def give_key(connection: apsw.Connection, key: bytes) -> None:
    """Encrypt what this connection reads and writes from here on, and keep SQLite's temporary data
    (sorting, undoing a statement) in memory."""
    connection.pragma("cipher", CIPHER)
    connection.pragma("key", f"raw:{key.hex()}")
    connection.execute("PRAGMA temp_store = MEMORY")


def real_path(path: Path) -> str:
    """Return the path without links: SQLite puts its files next to the link's target."""
    return os.path.realpath(path)


def pending(real: str) -> bool:
    """Return True if a change of the key has begun to take effect and is not finished."""
    return os.access(real + NEXT, os.F_OK)


def left_over(real: str) -> bool:
    """Return True if an interrupted change left a useless copy."""
    return os.access(real + COPY, os.F_OK)
