"""Waiting for somebody else to be done, and not for ever."""

from __future__ import annotations

import time
from collections.abc import Callable

FIRST_PAUSE_S = 0.001
LONGEST_PAUSE_S = 0.1


def patiently(
    action: Callable[[], object], busy: tuple[type[Exception], ...], seconds: float
) -> None:
    """Again while it raises one of `busy`, for so long; then it is raised here."""
    give_up = time.monotonic() + seconds
    pause = FIRST_PAUSE_S
    while True:
        try:
            action()
            return
        except busy:
            if time.monotonic() > give_up:
                raise
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE_S)
