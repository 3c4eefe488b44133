"""The engine behind an event loop: its calls block, so they run in threads (see `thread_pools.py`).

Who calls is known before any route is reached, and every route asks the same service. So the caller
travels beside the request, in a context variable, and `engine` is what that caller may use: no
route has to remember it, and one that is written tomorrow cannot forget it. The pool, which the
table of routes declares, travels in the same way.
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

LOOK_S = 0.1
# A sign of life: a dead connection is noticed, and who was logged out is not shown anything more.
BEAT_S = 15.0
# Each holds a connection. A browser has one for each page that can be seen, so this is a team.
MOST_WATCHING = 64
LOOKS = ThreadPool("looks at the vault", 1, 4)

Pulse = tuple[int, int]


class Feed:
    """Those who watch one server: one look at the vault's pulse for all, and one signal to them.

    The pulse is asked for by one thread, ten times a second, and only while somebody watches. It
    costs some twenty microseconds, so that a page that is open all day costs nothing that anybody
    notices; a tenth of a second leaves room for the rest within the 300 ms after which something
    feels late.
    """

    def __init__(self, engine: Recollect, pools: ThreadPools) -> None:
        self._engine, self._pools = engine, pools
        self._watching = 0
        self._following: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._stopped = False
        self.pulse: Pulse = (-1, 0)

    def check(self) -> None:
        """StoreError where too many watch already."""
        if self._watching >= MOST_WATCHING:
            raise StoreError(
                f"{MOST_WATCHING} pages are followed live already; close some, then try again."
            )

    async def looks(self) -> AsyncGenerator[bool]:
        """True at the start and whenever something has changed, False when nothing has for a while;
        it ends with the server."""
        self._watching += 1
        try:
            if self._following is None or self._following.done():
                self.pulse = await self._look()
                self._following = asyncio.create_task(self._follow())
            changed, news = self._changed, True
            while not self._stopped:
                yield news
                try:
                    await asyncio.wait_for(changed.wait(), BEAT_S)
                except TimeoutError:
                    news = False
                else:  # what comes while this is dealt with signals the next one
                    changed, news = self._changed, True
        finally:
            self._watching -= 1

    def stop(self) -> None:
        """Let everybody go within the next look: the server ends."""
        self._stopped = True

    async def _follow(self) -> None:
        while self._watching and not self._stopped:
            await asyncio.sleep(LOOK_S)
            pulse = await self._look()
            if pulse != self.pulse:
                self.pulse = pulse
                self._signal()
        self._signal()

    def _signal(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def _look(self) -> Pulse:
        try:
            return await self._pools.run(LOOKS, self._engine.pulse)
        except RecollectError:  # the vault is being replaced, say; whoever asks for more is told
            return self.pulse


# Set for each request by the guard. Where nobody has set it, nobody is let in.
CALLER: ContextVar[Caller] = ContextVar("caller", default=NOBODY)
# Through what the caller changes memories, for history; the pages set it.
INTERFACE: ContextVar[str] = ContextVar("interface", default="http")
# Set for each request by the table that declares its route.
POOL: ContextVar[ThreadPool] = ContextVar("pool", default=READS)

LOG = logging.getLogger("recollect.policies")
TIDY_S = 3600.0  # how often a server looks whether a day has passed

P = ParamSpec("P")
Answer = TypeVar("Answer")


class Service:
    """The engine for routes. The event loop stays free: `/healthz` answers while searches run."""

    def __init__(self, engine: Recollect) -> None:
        self.own = engine  # for what the server does on its own account, never for a caller
        self.pools = ThreadPools()
        self.feed = Feed(engine, self.pools)
        self.warm = threading.Event()
        self._closed = threading.Event()

    @property
    def engine(self) -> Recollect:
        """The engine with the rights of this request's caller."""
        return self.own.acting_as(CALLER.get(), INTERFACE.get())

    async def ask(self, call: Callable[P, Answer], *args: P.args, **named: P.kwargs) -> Answer:
        """Run the call in a thread of the request's pool; return or raise what it does."""
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
        """Apply what the settings say of age once a day, as long as the server runs. A locked
        vault that nobody uses stays closed."""
        self.warm.wait()
        while not self._closed.is_set():
            try:
                for outcome in self.own.tidy_daily():
                    LOG.info("%s", outcome.sentence)
            except RecollectError as error:  # the server goes on without it
                LOG.error("Policies are not applied: %s", error)
            self._closed.wait(TIDY_S)

    def close(self) -> None:
        self._closed.set()
        self.pools.close()
