"""Lanes: threads and a queue for each kind of work, so that no kind waits for another.

The engine's calls block. A save waits until it may write, for a minute if another process holds the
vault's write lock; searches and reads never wait for that lock, and so must not wait for a thread
behind a save either. Every route, tool and page declares its lane.
"""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import NamedTuple, TypeVar

from recollect.errors import StoreError

Answer = TypeVar("Answer")


class Lane(NamedTuple):
    """`most`: how many calls run or wait; whoever comes later is told to try again."""

    name: str
    threads: int
    most: int


# SQLite has one writer at a time: while one commits, the other prepares. A caller behind more than
# 64 writers would give up before an answer comes.
WRITES = Lane("changes", 2, 64)
# A search waits for the disk and for models that compute without Python, so one thread more than
# there are cores keeps all of them busy; many more would only wait for each other.
SEARCHES = Lane("searches", (os.cpu_count() or 1) + 1, 128)
# One memory by its id, a page of a list: each takes a few milliseconds.
READS = Lane("reads", 2, 256)
# Whether the vault can be read, asked by whoever watches the server.
HEALTH = Lane("health checks", 1, 16)


class Lanes:
    """The threads of one server, started when they are needed."""

    def __init__(self) -> None:
        self._pools: dict[Lane, ThreadPoolExecutor] = {}
        self.calls: Counter[Lane] = Counter()  # that run or wait

    async def run(self, lane: Lane, call: Callable[[], Answer]) -> Answer:
        """Run the call in a thread of its lane, and return or raise what it does. A call that is
        cancelled before its turn does not start."""
        if self.calls[lane] >= lane.most:
            raise StoreError(f"Too many {lane.name} are waiting; try again in a few seconds.")
        if lane not in self._pools:
            self._pools[lane] = ThreadPoolExecutor(lane.threads, f"recollect-{lane.name}")
        self.calls[lane] += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._pools[lane], copy_context().run, call)
        finally:
            self.calls[lane] -= 1

    def close(self) -> None:
        """Stop without waiting: the callers are gone."""
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
