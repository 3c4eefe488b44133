"""The time that a search may take: after it nothing is begun, and no model or vault waited for."""

from __future__ import annotations

import time
from collections.abc import Callable


class Deadline:
    """So many milliseconds from when it is made, by a clock that counts seconds; None is no
    deadline."""

    def __init__(
        self, milliseconds: int | None = None, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self.milliseconds = milliseconds
        self._clock = clock
        self._start = clock()

    def within(self, seconds: float | None) -> float | None:
        """As many of these seconds as are left, at least 0; None is for ever."""
        if self.milliseconds is None:
            return seconds
        left = max(0.0, self._start + self.milliseconds / 1000 - self._clock())
        return left if seconds is None else min(seconds, left)

    @property
    def over(self) -> bool:
        return self.within(None) == 0.0

    @property
    def reason(self) -> str:
        """Why something was left out."""
        return f"not ready within the deadline of {self.milliseconds} ms"


NO_DEADLINE = Deadline()
