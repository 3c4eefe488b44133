"""Whose turn it is to write: who waits is let in between two writes of a long work.

SQLite has no queue. Who waits looks every tenth of a second whether the vault is free, and may miss
the moment between two writes of an import again and again, the longer the busier the machine is.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

import apsw

from recollect.files import exclusive
from recollect.store.sqlite.opening import waiting_for_others
from recollect.store.sqlite.vault_files import waiting
from recollect.store.waiting import waits

WAITING = "-waiting.lock"  # beside the vault; shared by all who wait
LONGEST_S = 5.0  # that a long work waits for others: it must come to an end as well
LOOK_S = 0.01


def begin(connection: apsw.Connection, real: str, *, sql: str = "BEGIN IMMEDIATE") -> None:
    """Begin a write to the vault at this path, or run another statement that needs its lock."""
    start = partial(connection.execute, sql)
    try:
        with waiting(connection, 0):
            start()
    except (apsw.BusyError, apsw.LockedError):
        if not waits():
            raise
        with exclusive(_file(real), shared=True):
            waiting_for_others(start)


def let_others_write(real: str) -> None:
    """Return when nobody waits any more, or has waited for long."""
    file, until = _file(real), time.monotonic() + LONGEST_S
    while file.exists() and time.monotonic() < until:
        with exclusive(file) as nobody_waits:
            if nobody_waits:
                return
        time.sleep(LOOK_S)


def _file(real: str) -> Path:
    return Path(f"{real}{WAITING}")
