"""Work in a process that is killed at a chosen write."""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import apsw

from recollect.store.sqlite.connection import Database


class Killing:
    """Kills the process in its n-th write, before or after it is committed."""

    def __init__(self, at: int, *, committed: bool) -> None:
        self._left = at
        self._committed = committed

    def patch(self) -> None:
        real = Database.writing

        @contextmanager
        def writing(database: Database, **options: bool) -> Iterator[apsw.Connection]:
            self._left -= 1
            with real(database, **options) as connection:
                yield connection
                if not self._left and not self._committed:
                    os.kill(os.getpid(), signal.SIGKILL)
            if not self._left:
                os.kill(os.getpid(), signal.SIGKILL)

        setattr(Database, "writing", writing)  # noqa: B010  mypy


def run_and_kill(work: Callable[[], None], killing: Killing) -> bool:
    """Do the work in a process that is killed; whether it was."""
    child = os.fork()
    if not child:  # nothing of the test's own must end with it
        failed = 1
        try:
            killing.patch()
            work()
            failed = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(failed)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), "The work itself failed."
    return status == signal.SIGKILL
