"""The live feed: one look at the vault's pulse for all who watch, and one signal to them.

The pulse is asked for by one thread, ten times a second, and only while somebody watches. It costs
some twenty microseconds, so that a page that is open all day costs nothing that anybody notices; a
tenth of a second leaves room for the rest within the 300 ms after which something feels late.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from recollect.engine import Recollect
from recollect.errors import RecollectError, StoreError
from recollect.interfaces.lanes import Lane, Lanes

LOOK_S = 0.1
# A sign of life: a dead connection is noticed, and who was logged out is not shown anything more.
BEAT_S = 15.0
# Each holds a connection. A browser has one for each page that can be seen, so this is a team.
MOST = 64
LOOKS = Lane("looks at the vault", 1, 4)

Pulse = tuple[int, int]


class Feed:
    """Those who watch one server."""

    def __init__(self, engine: Recollect, lanes: Lanes) -> None:
        self._engine, self._lanes = engine, lanes
        self._watching = 0
        self._following: asyncio.Task[None] | None = None
        self._changed = asyncio.Event()
        self._stopped = False
        self.pulse: Pulse = (-1, 0)

    def check(self) -> None:
        """StoreError where too many watch already."""
        if self._watching >= MOST:
            raise StoreError(f"{MOST} pages are followed live already; close some, then try again.")

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
            return await self._lanes.run(LOOKS, self._engine.pulse)
        except RecollectError:  # the vault is being replaced, say; whoever asks for more is told
            return self.pulse
