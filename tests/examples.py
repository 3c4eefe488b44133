"""How many examples a costly property is tried with: a third of them in an ordinary run, which
tries the same ones each time, and all with `make test EXAMPLES=all`."""

from __future__ import annotations

import os


def examples(number: int) -> int:
    return number if os.environ.get("EXAMPLES") == "all" else number // 3
