"""The time that a search may take: after it nothing is begun, and no model or vault waited for."""

from __future__ import annotations

import time
from collections.abc import Callable

# A search without a deadline that takes longer serves nobody, and keeps others from being answered.
LONGEST_MS = 30_000
# The first channel has this long, however short the deadline is: nearly always that is an answer.
LEAST_S = 0.3


class DeadlineOver(Exception):
    """A part of a search was stopped; the text says why."""


class Deadline:
    """A deadline `milliseconds` from now; None means none. `clock` counts seconds."""

    def __init__(
        self, milliseconds: int | None = None, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.milliseconds = milliseconds
        self._clock = clock
        self._end = clock() + (milliseconds or 0) / 1000

    def within(self, seconds: float | None) -> float | None:
        """As many of these seconds as are left, at least 0; None is for ever."""
        if self.milliseconds is None:
            return seconds
        left = max(0.0, self._end - self._clock())
        return left if seconds is None else min(seconds, left)

    def for_channel(self, *, first: bool) -> Deadline:
        """Return the deadline of work inside one channel. `first`: nothing has answered yet."""
        if self.milliseconds is None:
            return Deadline(LONGEST_MS)
        own = Deadline(self.milliseconds, self._clock)
        own._end = max(self._end, self._clock() + LEAST_S) if first else self._end
        return own

    def check(self) -> None:
        """Raise DeadlineOver once the time is over."""
        if self.over:
            raise DeadlineOver(self.reason)

    @property
    def over(self) -> bool:
        return self.within(None) == 0.0

    @property
    def reason(self) -> str:
        """Why something was left out."""
        return f"not ready within the deadline of {self.milliseconds} ms"


NO_DEADLINE = Deadline()
