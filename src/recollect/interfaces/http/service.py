"""The engine for an asynchronous server: its calls block, so they run in threads (see `pools.py`).

The guard sets the caller in a context variable before any route runs, and `Service.engine` has that
caller's rights, so that no route can forget to check them. The pool, which the table of routes
declares, is set in the same way.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncGenerator, Callable
from contextvars import ContextVar
from functools import partial
from typing import ParamSpec, TypeVar

from recollect.auth.capabilities import NOBODY, Caller
from recollect.engine import Recollect
from recollect.errors import RecollectError, StoreError
from recollect.interfaces.thread_pools import READS, ThreadPool, ThreadPools

POLL_S = 0.1
# Heartbeat of a stream: it detects dead connections and callers who were logged out.
BEAT_S = 15.0
# Each holds a connection. A browser has one for each visible page, so this is enough for a team.
MOST_WATCHING = 64
POLLS = ThreadPool("vault checks", 1, 4)

Pulse = tuple[int, int]


class Feed:
    """Notifies all live pages of one server when the vault changes.

    One thread reads the vault's pulse ten times a second, only while pages are connected. A read
    takes about twenty microseconds, so that a page can stay open all day; a tenth of a second
    leaves time for the rest within the 300 ms after which a page feels slow.
    """

    def __init__(self, engine: Recollect, pools: ThreadPools) -> None:
        self._engine, self._pools = engine, pools
        self._watching = 0
        self._following: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._stopped = False
        self.pulse: Pulse = (-1, 0)

    def check(self) -> None:
        """Raise StoreError if too many pages are connected."""
        if self._watching >= MOST_WATCHING:
            raise StoreError(
                f"{MOST_WATCHING} live pages are open already; close some, then try again."
            )

    async def changes(self) -> AsyncGenerator[bool]:
        """Yield True at the start and after each change, False if nothing has changed for BEAT_S;
        end with the server."""
        self._watching += 1
        try:
            if self._following is None or self._following.done():
                self.pulse = await self._poll()
                self._following = asyncio.create_task(self._follow())
            changed, news = self._changed, True
            while not self._stopped:
                yield news
                try:
                    await asyncio.wait_for(changed.wait(), BEAT_S)
                except TimeoutError:
                    news = False
                else:  # a change from here on sets the new event
                    changed, news = self._changed, True
        finally:
            self._watching -= 1

    def stop(self) -> None:
        """End all streams at the next poll, as the server stops."""
        self._stopped = True

    async def _follow(self) -> None:
        while self._watching and not self._stopped:
            await asyncio.sleep(POLL_S)
            pulse = await self._poll()
            if pulse != self.pulse:
                self.pulse = pulse
                self._signal()
        self._signal()

    def _signal(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _poll(self) -> Pulse:
        try:
            return await self._pools.run(POLLS, self._engine.pulse)
        except RecollectError:  # the vault is being replaced, for example; a later call says so
            return self.pulse


# Set for each request by the guard; by default, all access is denied.
CALLER: ContextVar[Caller] = ContextVar("caller", default=NOBODY)
# The interface that history records for a change; pages set their own.
INTERFACE: ContextVar[str] = ContextVar("interface", default="http")
# Set for each request by the table of routes.
POOL: ContextVar[ThreadPool] = ContextVar("pool", default=READS)

LOG = logging.getLogger("recollect.policies")
TIDY_S = 3600.0  # between two checks whether a day has passed

P = ParamSpec("P")
Answer = TypeVar("Answer")


class Service:
    """The engine for routes, called in threads: `/healthz` answers while searches run."""

    def __init__(self, engine: Recollect) -> None:
        self.own = engine  # for the server's own work, never for a caller
        self.pools = ThreadPools()
        self.feed = Feed(engine, self.pools)
        self.warm = threading.Event()
        self._closed = threading.Event()

    @property
    def engine(self) -> Recollect:
        """The engine with the rights of this request's caller."""
        return self.own.acting_as(CALLER.get(), INTERFACE.get())

    async def ask(self, call: Callable[P, Answer], *args: P.args, **named: P.kwargs) -> Answer:
        """Run the call in a thread of the request's pool and return its result."""
        return await self.pools.run(POOL.get(), partial(call, *args, **named))

    def warm_up(self) -> None:
        """Load the models in the background, so that the first search does not wait."""
        threading.Thread(target=self._warm_up, name="recollect-warm-up", daemon=True).start()
        threading.Thread(target=self._tidy, name="recollect-tidy", daemon=True).start()

    def _warm_up(self) -> None:
        try:
            self.own.warm_up()
        finally:
            self.warm.set()

    def _tidy(self) -> None:
        """Apply the policies once a day while the server runs. A locked vault stays locked."""
        self.warm.wait()
        while not self._closed.is_set():
            try:
                for outcome in self.own.tidy_daily():
                    LOG.info("%s", outcome.sentence)
            except RecollectError as error:
                LOG.error("Policies are not applied: %s", error)
            self._closed.wait(TIDY_S)

    def close(self) -> None:
        self._closed.set()
        self.pools.close()
