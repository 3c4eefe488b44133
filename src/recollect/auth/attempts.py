"""How often somebody may try to log in with a wrong token.

Wrong tokens alone count, and what was used up comes back steadily, so that nobody is shut out for
longer than a few seconds after an attack has ended.
"""

from __future__ import annotations

import math
import mmap
import time
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address

from recollect.auth.access import AttemptCounts

# A person mistypes a few times. At one in five seconds, a year allows six million guesses: a token
# of sixteen random characters takes longer than the universe is old.
PER_ADDRESS, PER_ADDRESS_S = 10, 5.0
# However many addresses take part.
IN_ALL, IN_ALL_S = 60, 1.0
# Counts that are kept. Addresses that share one by chance are counted as one.
PLACES = 1 << 16
EVERYBODY = ""


class SharedCounts:
    """Counts in memory: processes that are forked from the one that made it count together."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._whole_again = memoryview(mmap.mmap(-1, 8 * PLACES)).cast("d")

    def ahead_s(self, key: str) -> float:
        return self._whole_again[_place(key)] - self._clock()

    def put_off(self, key: str, interval_s: float, most_s: float) -> None:
        now = self._clock()
        later = max(self._whole_again[_place(key)], now) + interval_s
        self._whole_again[_place(key)] = min(later, now + most_s)


class Attempts:
    """Counts wrong tokens, by address and in all. For each there is the time at which all of its
    attempts have come back; one more puts that off."""

    def __init__(self, counts: AttemptCounts | None = None) -> None:
        self._counts = counts or SharedCounts()

    def wait_s(self, address: str) -> int:
        """How many seconds to wait before the next attempt; 0 where it may be made."""
        left = max(
            self._left_s(_network(address), PER_ADDRESS, PER_ADDRESS_S),
            self._left_s(EVERYBODY, IN_ALL, IN_ALL_S),
        )
        return math.ceil(max(0.0, left))

    def failed(self, address: str) -> None:
        """Count a wrong token."""
        limits = ((_network(address), PER_ADDRESS, PER_ADDRESS_S), (EVERYBODY, IN_ALL, IN_ALL_S))
        for key, most, interval_s in limits:
            # However many come, the next one waits for one interval.
            self._counts.put_off(key, interval_s, most * interval_s)

    def _left_s(self, key: str, most: int, interval_s: float) -> float:
        return self._counts.ahead_s(key) - (most - 1) * interval_s


def _place(key: str) -> int:
    return hash(key) % (PLACES - 1) + 1 if key != EVERYBODY else 0


def _network(address: str) -> str:
    """The address, or of IPv6 the network of it: whoever has one address there has them all."""
    try:
        parsed = ip_address(address)
    except ValueError:  # a Unix socket has none
        return "local"
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is None:
        return str(IPv6Address(int(parsed) >> 64 << 64))
    return address
