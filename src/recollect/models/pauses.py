"""How long to wait before a request is tried again."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from math import isfinite

FIRST_PAUSE_S = 0.25
# Somebody waits for a search: a server that needs longer to recover is reported instead.
LONGEST_PAUSE_S = 4.0


def pause_s(attempt: int, asked_s: float, chance: float) -> float:
    """Seconds to wait after try number `attempt` (from 1): doubled each time, less up to half by
    `chance` (0…1), plus what the server asked for, and never above LONGEST_PAUSE_S."""
    own = FIRST_PAUSE_S * 2.0 ** (attempt - 1) * (1 - chance / 2)
    return min(LONGEST_PAUSE_S, asked_s + own)


def retry_after_s(header: str) -> float:
    """Seconds that a Retry-After header (a number or an HTTP date) asks for; 0 if unreadable."""
    try:
        seconds = float(header)
    except ValueError:
        seconds = _seconds_until(header)
    return max(0.0, seconds) if isfinite(seconds) else 0.0


def _seconds_until(http_date: str) -> float:

    try:
        return parsedate_to_datetime(http_date).timestamp() - time.time()
    except ValueError:
        return 0.0
