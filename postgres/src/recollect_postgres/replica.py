"""Searches at a replica: never older than the primary while that can be asked, and for a while
without it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import psycopg

from recollect.errors import StoreError
from recollect.types import Degraded
from recollect_postgres.errors import as_store_errors, is_passing
from recollect_postgres.pool import Connection, pool_of
from recollect_postgres.transactions import CHANGES, last_row

if TYPE_CHECKING:
    from recollect_postgres.pool import Pool

# A replica that is behind catches up in that time, or the primary is asked.
CATCH_UP_S, PAUSE_S = 0.1, 0.005
# One that did not answer is not asked again before.
AGAIN_S = 2.0
STALE = (
    "The primary does not answer, so this is from a replica; nothing is missing but what was "
    "written in the last {seconds:.0f} s."
)


class Replica:
    """The servers of `store.read_url`. A vault counts its writes: a replica with the primary's
    number has all that the primary has, one's own writes included."""

    def __init__(self, url: str, max_staleness_s: float) -> None:
        self.pool: Pool = pool_of(url)
        self._max_staleness_s = max_staleness_s
        self._equal_at = -float("inf")  # when it last had all that the primary had
        self._changes = 0  # the largest number that is known
        self._replica_rests = self._primary_rests = 0.0  # neither is asked before

    def wrote(self, changes: int) -> None:
        """Note the number of a write by this process."""
        self._changes = max(self._changes, changes)

    def failed(self) -> None:
        self._replica_rests = time.monotonic() + AGAIN_S

    def begun(
        self, begin: str, primary: Callable[[], int]
    ) -> tuple[Connection, list[Degraded]] | None:
        """A connection to the replica in a transaction that shows enough, and what the answer has
        to tell; None where the primary must be asked. `primary` gives its number."""
        if time.monotonic() < self._replica_rests:
            return None
        asked_at = time.monotonic()
        known = self._asked(primary)
        try:
            connection = self._with(begin, self._changes, until=asked_at + CATCH_UP_S)
        except psycopg.Error as error:
            if not is_passing(error):
                raise
            self.failed()
            return None
        age = time.monotonic() - self._equal_at
        if connection is not None and known:
            self._equal_at = asked_at
            return connection, []
        if connection is not None and age <= self._max_staleness_s:
            return connection, [Degraded("replica", STALE.format(seconds=age))]
        if connection is not None:
            self.pool.give(connection)
        return None

    @property
    def primary_is_away(self) -> bool:
        """Whether it did not answer a moment ago."""
        return time.monotonic() < self._primary_rests

    def _asked(self, primary: Callable[[], int]) -> bool:
        """Whether the primary could be asked for its number."""
        if self.primary_is_away:
            return False
        try:
            self.wrote(primary())
            return True
        except StoreError:
            self._primary_rests = time.monotonic() + AGAIN_S
            return False

    def _with(self, begin: str, changes: int, until: float) -> Connection | None:
        """A connection whose transaction shows that many writes; None where there is none in
        time."""

        def shown(connection: Connection) -> int:
            found = last_row(connection, f"{begin}; {CHANGES}")
            return int(found[0]) if found else -1  # a vault that is not there yet

        while True:
            connection, found = self.pool.reached(shown, lambda error: False)
            if found >= changes:
                return connection
            self.pool.give(connection)
            if time.monotonic() > until:
                return None
            time.sleep(PAUSE_S)

    def probe(self) -> None:
        """Raise what is wrong with it."""
        with as_store_errors(self.pool.place):
            connection, _ = self.pool.reached(lambda one: one.execute("SELECT"), lambda _: False)
            self.pool.give(connection)
