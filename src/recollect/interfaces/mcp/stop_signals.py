"""The signals that ask the MCP server to stop."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def on_stop(stop: Callable[[], object]) -> Iterator[None]:
    """Call `stop` when such a signal arrives; restore the earlier handlers at the end."""

    def handler(number: int, frame: FrameType | None) -> None:
        stop()

    before = {number: signal.signal(number, handler) for number in SIGNALS}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)
