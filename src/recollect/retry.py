"""Waiting while something is busy, for a limited time, and saying so; and not waiting."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

FIRST_PAUSE_S = 0.001
LONGEST_PAUSE_S = 0.1
SILENT_S = 1.0  # a longer wait without a word looks like a failure

_waits = ContextVar("waits", default=True)


@contextmanager
def telling(sentence: str) -> Iterator[None]:
    """Log the sentence as a warning, which a command prints on stderr, if the block takes longer
    than SILENT_S."""

    def tell() -> None:
        logging.getLogger("recollect.waiting").warning(sentence)

    timer = threading.Timer(SILENT_S, tell)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


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


@contextmanager
def without_waiting() -> Iterator[None]:
    """Let writes in the block raise StoreError while another process writes."""
    token = _waits.set(False)
    try:
        yield
    finally:
        _waits.reset(token)


def waits() -> bool:
    """Return whether a write that begins now waits for others."""
    return _waits.get()
