"""A note beside a vault that is known to be damaged. Nothing is saved into it until it is repaired:
what is written into a damaged file may be lost, and may damage more.

The note is a file of its own, since a damaged vault is not written to.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from recollect.errors import Damaged
from recollect.store.sqlite.errors import REMEDY

NOTE = "-damaged"


def note_damage(real: str, sentence: str) -> None:
    """Note it for every process. Where that is not permitted, each one finds out by itself."""
    with suppress(OSError), os.fdopen(_created(real), "w", encoding="utf-8") as file:
        file.write(f"{sentence}\n")


def _created(real: str) -> int:
    return os.open(real + NOTE, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def refuse_damaged(real: str) -> None:
    """Damaged where the vault is known to be so."""
    if os.access(real + NOTE, os.F_OK):
        raise Damaged(f"The vault {real} is damaged, so nothing is written into it; {REMEDY}.")


def remove_note(real: str) -> None:
    Path(real + NOTE).unlink(missing_ok=True)
