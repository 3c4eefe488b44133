"""Whether a write waits for another process that is writing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_waits = ContextVar("waits", default=True)


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
