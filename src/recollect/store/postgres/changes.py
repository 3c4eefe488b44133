"""What a write transaction does to one memory, as the indexes need to know it."""

from __future__ import annotations

from typing import NamedTuple

from recollect.types import Memory


class IndexChange(NamedTuple):
    """A memory as it was and as it is now, as far as it is live: None where it is not."""

    key: int
    before: Memory | None
    after: Memory | None
