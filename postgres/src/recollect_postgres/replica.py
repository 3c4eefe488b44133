"""Search at a replica: as new as the primary while that can be asked, and for a while without
it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import psycopg

from recollect.errors import StoreError
from recollect.types import Degraded
from recollect_postgres.pool import Connection, as_store_errors, is_passing, pool_of
from recollect_postgres.transactions import CHANGES, last_row

if TYPE_CHECKING:
    from recollect_postgres.pool import Pool

# An older replica catches up in this time, or the primary is asked.
CATCH_UP_S, PAUSE_S = 0.1, 0.005
# Pause before a server that did not answer is tried again.
AGAIN_S = 2.0
STALE = (
    "The primary does not answer, so this is from a replica; nothing is missing but what was "
    "written in the last {seconds:.0f} s."
)


class Replica:
    """The servers of `store.read_url`. A vault counts its writes: a replica with the primary's
    number has all that the primary has, this process's writes included."""

    def __init__(self, url: str, max_staleness_s: float) -> None:
        self.pool: Pool = pool_of(url)
        self._max_staleness_s = max_staleness_s
        self._equal_at = -float("inf")  # when it last had all that the primary had
        self._changes = 0  # the largest known number
        self._retry_replica_at = self._retry_primary_at = 0.0

    def note_write(self, changes: int) -> None:
        """Note the number of a write by this process."""
        self._changes = max(self._changes, changes)

    def note_failure(self) -> None:
        self._retry_replica_at = time.monotonic() + AGAIN_S

    def begin(
        self, begin: str, primary: Callable[[], int]
    ) -> tuple[Connection, list[Degraded]] | None:
        """Return a connection to the replica, in a transaction that is new enough, and notes for
        the response; None if the primary must be asked.

        begin: the statements that begin a transaction.
        primary: returns the primary's number of writes.
        """
        if time.monotonic() < self._retry_replica_at:
            return None
        asked_at = time.monotonic()
        known = self._ask_primary(primary)
        try:
            connection = self._with(begin, self._changes, until=asked_at + CATCH_UP_S)
        except psycopg.Error as error:
            if not is_passing(error):
                raise
            self.note_failure()
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
        """True if the primary did not answer a moment ago."""
        return time.monotonic() < self._retry_primary_at

    def _ask_primary(self, primary: Callable[[], int]) -> bool:
        """Note the primary's number; return False if it does not answer."""
        if self.primary_is_away:
            return False
        try:
            self.note_write(primary())
            return True
        except StoreError:
            self._retry_primary_at = time.monotonic() + AGAIN_S
            return False

    def _with(self, begin: str, changes: int, until: float) -> Connection | None:
        """Return a connection whose transaction shows this many writes; None if it takes too
        long."""

        def count_writes(connection: Connection) -> int:
            row = last_row(connection, f"{begin}; {CHANGES}")
            return int(row[0]) if row else -1  # the replica does not have the vault yet

        while True:
            connection, found = self.pool.reach(count_writes, lambda error: False)
            if found >= changes:
                return connection
            self.pool.give(connection)
            if time.monotonic() > until:
                return None
            time.sleep(PAUSE_S)

    def probe(self) -> None:
        """Raise StoreError if the replica does not answer."""
        with as_store_errors(self.pool.place):
            connection, _ = self.pool.reach(lambda one: one.execute("SELECT"), lambda _: False)
            self.pool.give(connection)
