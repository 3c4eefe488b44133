"""Retrying while something is busy, for a limited time."""

from __future__ import annotations

import time
from collections.abc import Callable

FIRST_PAUSE_S = 0.001
LONGEST_PAUSE_S = 0.1


def patiently(
    action: Callable[[], object], busy: tuple[type[Exception], ...], seconds: float
) -> None:
    """Run `action`; retry while it raises one of `busy`, up to `seconds`, then raise it."""
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
