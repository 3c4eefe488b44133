"""How many examples a property is tried with: an eighth of them in an ordinary run, which tries the
same ones each time, and all with `make test EXAMPLES=all`."""

from __future__ import annotations

import os

FEWEST = 3


def examples(number: int) -> int:
    return number if os.environ.get("EXAMPLES") == "all" else max(number // 8, FEWEST)
