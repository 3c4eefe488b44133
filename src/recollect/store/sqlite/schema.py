"""The version of a vault file, and what several parts ask of its tables."""

from __future__ import annotations

from pathlib import Path

import apsw

from recollect.errors import StoreError

APPLICATION_ID = 0x52434C54  # "RCLT", so that `file` and we can tell a vault from any database
VERSION = 11


def checked_version(connection: apsw.Connection, path: Path) -> int:
    """The file's version, 0 for an empty file; StoreError for any other database."""
    # One statement sees one moment: another process may be making the vault just now.
    [(version, application, empty)] = connection.execute(
        "SELECT user_version, application_id, NOT EXISTS (SELECT 1 FROM sqlite_schema) "
        "FROM pragma_user_version, pragma_application_id"
    ).fetchall()
    assert isinstance(version, int)
    if application != APPLICATION_ID:
        if version or not empty:
            raise StoreError(f"{path} is a SQLite database, but not a Recollect vault.")
        return 0
    if version > VERSION:
        raise StoreError(
            f"The vault {path} has version {version}, and this Recollect knows versions up to "
            f"{VERSION}; install a newer Recollect to open it."
        )
    return version
