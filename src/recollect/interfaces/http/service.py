"""The engine behind an event loop: its calls block, so they run in threads (see `lanes.py`).

Who calls is known before any route is reached, and every route asks the same service. So the caller
travels beside the request, in a context variable, and `engine` is what that caller may use: no
route has to remember it, and one that is written tomorrow cannot forget it. The lane, which the
table of routes declares, travels in the same way.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import ParamSpec, TypeVar

from recollect.auth.capabilities import NOBODY, Caller
from recollect.engine import Recollect
from recollect.errors import RecollectError
from recollect.interfaces.http.feed import Feed
from recollect.interfaces.lanes import READS, Lane, Lanes

# Set for each request by the guard. Where nobody has set it, nobody is let in.
CALLER: ContextVar[Caller] = ContextVar("caller", default=NOBODY)
# Through what the caller changes memories, for history; the pages set it.
INTERFACE: ContextVar[str] = ContextVar("interface", default="http")
# Set for each request by the table that declares its route.
LANE: ContextVar[Lane] = ContextVar("lane", default=READS)

LOG = logging.getLogger("recollect.policies")
TIDY_S = 3600.0  # how often a server looks whether a day has passed

P = ParamSpec("P")
Answer = TypeVar("Answer")


class Service:
    """The engine for routes. The event loop stays free: `/healthz` answers while searches run."""

    def __init__(self, engine: Recollect) -> None:
        self.own = engine  # for what the server does on its own account, never for a caller
        self.lanes = Lanes()
        self.feed = Feed(engine, self.lanes)
        self.warm = threading.Event()
        self._closed = threading.Event()

    @property
    def engine(self) -> Recollect:
        """The engine with the rights of this request's caller."""
        return self.own.acting_as(CALLER.get(), INTERFACE.get())

    async def ask(self, call: Callable[P, Answer], *args: P.args, **named: P.kwargs) -> Answer:
        """Run the call in a thread of the request's lane; return or raise what it does."""
        return await self.lanes.run(LANE.get(), partial(call, *args, **named))

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
        self.lanes.close()
