"""The engine behind an event loop: its calls block, so they run in a few threads of their own.

Who calls is known before any route is reached, and every route asks the same service. So the caller
travels beside the request, in a context variable, and `engine` is what that caller may use: no
route has to remember it, and one that is written tomorrow cannot forget it.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import partial
from typing import ParamSpec, TypeVar

from recollect.auth.capabilities import NOBODY, Caller
from recollect.engine import Recollect
from recollect.errors import StoreError

# A caller behind so many waiting ones would give up before an answer comes.
MOST_WAITING = 256
# Set for each request by the guard. Where nobody has set it, nobody is let in.
CALLER: ContextVar[Caller] = ContextVar("caller", default=NOBODY)

P = ParamSpec("P")
Answer = TypeVar("Answer")


def usual_threads() -> int:
    """A search waits for the disk and for models that compute without Python, so one thread more
    than there are cores keeps all of them busy; many more would only wait for each other."""
    return (os.cpu_count() or 1) + 1


class Service:
    """The engine for routes. The event loop stays free: `/healthz` answers while searches run."""

    def __init__(self, engine: Recollect, threads: int | None = None) -> None:
        self.own = engine  # for what the server does on its own account, never for a caller
        self._pool = ThreadPoolExecutor(threads or usual_threads(), "recollect-ask")
        self._waiting = 0
        self.warm = threading.Event()

    @property
    def engine(self) -> Recollect:
        """The engine with the rights of this request's caller."""
        return self.own.acting_as(CALLER.get())

    async def ask(self, call: Callable[P, Answer], *args: P.args, **named: P.kwargs) -> Answer:
        """Run the call in a thread and return or raise what it does."""
        if self._waiting >= MOST_WAITING:
            raise StoreError("The server is too busy; try again in a moment.")
        bound = partial(copy_context().run, partial(call, *args, **named))
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, bound)
        finally:
            self._waiting -= 1

    def warm_up(self) -> None:
        """Load the models in the background, so that the first search does not wait."""
        threading.Thread(target=self._warm_up, name="recollect-warm-up", daemon=True).start()

    def _warm_up(self) -> None:
        try:
            self.own.warm_up()
        finally:
            self.warm.set()

    def close(self) -> None:
        """Stop without waiting: the callers are gone."""
        self._pool.shutdown(wait=False, cancel_futures=True)
