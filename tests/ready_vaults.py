"""A new vault in tests is a copy of one that this process made before: making its tables takes four
times as long as all else that opening one takes.

Each has a key and an id of its own, as every new vault has. Where the file itself is tested,
and in what is marked `installed`, each is made anew.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import apsw

from recollect.store.sqlite.opening import Opener
from recollect.store.sqlite.store import SqliteStore
from recollect.store.sqlite.vault_files import VAULT_ID, mark_copy

FILE_TESTED = {"migrations", "soak", "store"}
OWN = {"topic_key": 32, VAULT_ID: 16}  # random bytes, which each vault has for itself

copied = True
_image = b""
_random: list[bytes] = []  # what the image has of them, as hexadecimal digits
_create_empty = Opener._create_private


def set_up() -> None:
    """From now on, in this process."""
    global _image
    with tempfile.TemporaryDirectory(prefix="recollect-") as folder:
        file = Path(folder, "vault.db")
        SqliteStore(file).close()
        connection = apsw.Connection(str(file))
        mark_copy(connection)
        rows = {row[0]: row[1] for row in connection.execute("SELECT key, value FROM meta")}
        connection.close()
        _image = file.read_bytes()
    _random[:] = [str(rows[name]).encode() for name in OWN]
    assert [_image.count(own) for own in _random] == [1] * len(OWN)
    Opener._create_private = _create_copy  # type: ignore[assignment, method-assign]


def copy_for(test: Path) -> None:
    global copied
    copied = not FILE_TESTED.intersection(test.parts)


def _create_copy(opener: Opener) -> None:
    """At once and whole, or as the product does where that is not possible."""
    if not copied or os.path.lexists(opener.path):
        _create_empty(opener)
        return
    image = _image
    for own, size in zip(_random, OWN.values(), strict=True):
        image = image.replace(own, os.urandom(size).hex().encode())
    try:
        made = os.open(opener.path.parent, os.O_TMPFILE | os.O_RDWR, 0o600)
    except OSError:
        _create_empty(opener)
        return
    try:
        if os.write(made, image) == len(image):
            # With a folder named Python calls what follows the link to a file without a name.
            os.link(f"/proc/self/fd/{made}", opener.path, src_dir_fd=made)
    except OSError:
        _create_empty(opener)
    finally:
        os.close(made)
