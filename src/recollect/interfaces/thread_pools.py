"""Thread pools, one for each kind of work, so that no kind waits for another.

The engine's calls block. A save waits for the vault's write lock, up to a minute if another process
holds it. Searches and reads never wait for that lock, so they must not wait for a thread that a
save occupies. Every route, tool and page declares its pool.
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


class ThreadPool(NamedTuple):
    """`limit`: the most calls that run or wait; a further one is told to try again."""

    name: str
    threads: int
    limit: int


# SQLite has one writer at a time: while one commits, the other prepares. After more than 64
# writers, a caller would give up before its turn.
WRITES = ThreadPool("changes", 2, 64)
# A search waits for the disk and for models that run outside of Python, so one thread more than
# cores keeps all cores busy; many more would only wait for each other.
SEARCHES = ThreadPool("searches", (os.cpu_count() or 1) + 1, 128)
# A memory by its id or a page of a list takes a few milliseconds.
READS = ThreadPool("reads", 2, 256)
# For monitoring: whether the vault can be read.
HEALTH = ThreadPool("health checks", 1, 16)


class ThreadPools:
    """The threads of one server, started when they are needed."""

    def __init__(self) -> None:
        self._pools: dict[ThreadPool, ThreadPoolExecutor] = {}
        self.calls: Counter[ThreadPool] = Counter()  # that run or wait

    async def run(self, pool: ThreadPool, call: Callable[[], Answer]) -> Answer:
        """Run the call in a thread of its pool; return its result. A call that is cancelled while
        it waits does not start."""
        if self.calls[pool] >= pool.limit:
            raise StoreError(f"Too many {pool.name} are waiting; try again in a few seconds.")
        if pool not in self._pools:
            self._pools[pool] = ThreadPoolExecutor(pool.threads, f"recollect-{pool.name}")
        self.calls[pool] += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._pools[pool], copy_context().run, call)
        finally:
            self.calls[pool] -= 1

    def close(self) -> None:
        """Stop without waiting, since the callers are gone."""
        for pool in self._pools.values():
            pool.shutdown(wait=False, cancel_futures=True)
