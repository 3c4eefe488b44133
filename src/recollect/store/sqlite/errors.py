"""SQLite's errors as sentences that say what happened to which file, and what to do."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from recollect.errors import Damaged, NotAVault, StoreError
from recollect.store.memory_rows import BadRow

# How long a connection waits: enough for seven other writers and a large import batch to finish.
BUSY_SECONDS = 60.0

REMEDY = (
    "`recollect doctor --fix` repairs it, `recollect restore --from FILE` puts a backup in its "
    "place, and `recollect export --salvage` writes what can be read"
)
NOTE = "-damaged"  # file next to a vault that is known to be damaged, which is not written to


@contextmanager
def as_store_errors(path: Path) -> Iterator[None]:
    """Raise SQLite's errors about the vault at `path` as StoreError."""
    try:
        yield
    except (apsw.CorruptError, BadRow, UnicodeDecodeError) as error:
        # SQLite does not check the texts it returns.
        text = isinstance(error, UnicodeDecodeError)
        reason = "a text is not valid UTF-8" if text else _reason(error)
        raise Damaged(f"The vault {path} is damaged ({reason}); {REMEDY}.") from error
    except apsw.NotADBError as error:
        raise NotAVault(f"{path} is not a Recollect vault: it is not a SQLite database.") from error
    except apsw.Error as error:
        raise StoreError(_sentence(path, error)) from error


def _sentence(path: Path, error: apsw.Error) -> str:
    reason = _reason(error)
    match error:
        case apsw.CantOpenError():
            return f"The vault {path} cannot be opened; check that its folder exists and is yours."
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return f"The vault {path} is read-only, so nothing can be written."
        case apsw.FullError():
            return f"The disk that holds {path} is full; nothing of this write was kept."
        case apsw.BusyError() | apsw.LockedError():
            return (
                f"Another process has been writing to {path} for over {BUSY_SECONDS:.0f} seconds; "
                "try again when it is done."
            )
        case apsw.IOError():
            return f"Reading or writing {path} failed ({reason}); nothing of this write was kept."
        case apsw.TooBigError():
            return "A text is larger than SQLite can hold (about 1 GB)."
    return f"The vault {path} could not answer: {reason}."


def _reason(error: Exception) -> str:
    return " ".join(str(error).split())[:200]  # SQLite may quote a statement of many lines


def note_damage(real: str, sentence: str) -> None:
    """Note for every process that the vault is damaged: new data may be lost, and may damage more.
    If that is not permitted, each process finds out by itself."""
    with suppress(OSError):
        handle = os.open(real + NOTE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(f"{sentence}\n")


def refuse_damaged(real: str) -> None:
    if os.access(real + NOTE, os.F_OK):
        raise Damaged(f"The vault {real} is damaged, so nothing is written into it; {REMEDY}.")


def remove_note(real: str) -> None:
    Path(real + NOTE).unlink(missing_ok=True)
