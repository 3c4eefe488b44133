"""Deadlines of searches, after which no work is started and no model or vault is waited for; and
retrying, for a limited time, while something is busy."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

LONGEST_MS = 30_000  # per channel, without a deadline: a longer search would only block others
LEAST_S = 0.3  # for the first channel, however short the deadline is: mostly enough for an answer


class DeadlineOver(Exception):
    """A part of a search was stopped; the message says why."""


class Deadline:
    """A deadline `milliseconds` from now; None means none. `clock` counts seconds."""

    def __init__(
        self, milliseconds: int | None = None, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.milliseconds = milliseconds
        self._clock = clock
        self._end = clock() + (milliseconds or 0) / 1000

    def within(self, seconds: float | None) -> float | None:
        """Return these seconds, or the time left if that is less, at least 0; None is unlimited."""
        if self.milliseconds is None:
            return seconds
        left = max(0.0, self._end - self._clock())
        return left if seconds is None else min(seconds, left)

    def for_channel(self, *, first: bool) -> Deadline:
        """Return the deadline of one channel. `first`: no channel has answered yet."""
        if self.milliseconds is None:
            return Deadline(LONGEST_MS)
        own = Deadline(self.milliseconds, self._clock)
        own._end = max(self._end, self._clock() + LEAST_S) if first else self._end
        return own

    def check(self) -> None:
        """Raise DeadlineOver after the deadline."""
        if self.over:
            raise DeadlineOver(self.reason)

    @property
    def over(self) -> bool:
        return self.within(None) == 0.0

    @property
    def reason(self) -> str:
        """The reason for a skipped part."""
        return f"not ready within the deadline of {self.milliseconds} ms"


NO_DEADLINE = Deadline()


FIRST_PAUSE_S = 0.001
LONGEST_PAUSE_S = 0.1
SILENT_S = 1.0  # a longer silent wait looks like a failure

_waits = ContextVar("waits", default=True)


@contextmanager
def warn_if_slow(sentence: str) -> Iterator[None]:
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


def retry_while_busy(
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


def may_wait() -> bool:
    """Return whether a write that begins now waits for others."""
    return _waits.get()
