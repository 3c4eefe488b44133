"""How much of what could be tried is tried: in an ordinary run a twelfth of a property's examples,
the same ones each time, and one in so many of what is tried one by one; everything with
`make test EXAMPLES=all`."""

from __future__ import annotations

import os

FEWEST = 3
ALL = os.environ.get("EXAMPLES") == "all"


def examples(number: int) -> int:
    return number if ALL else max(number // 12, FEWEST)


def one_in(number: int) -> int:
    return 1 if ALL else number
