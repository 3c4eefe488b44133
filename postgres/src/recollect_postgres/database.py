"""Transactions of one vault in PostgreSQL; each sees this vault alone."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg

from recollect.deadline import may_wait
from recollect.errors import Interrupted, StoreError
from recollect.store.base import Stored
from recollect.types import Degraded
from recollect_postgres.migration import check_version, refuse_other_version
from recollect_postgres.pool import (
    SEARCH_SECONDS,
    SOON,
    Connection,
    Pool,
    as_store_errors,
    is_passing,
    pool_of,
)
from recollect_postgres.replica import Replica
from recollect_postgres.transactions import (
    BEGIN,
    CHANGES,
    CLOCKS_DIFFER_S,
    DONE,
    FACTS,
    FIND,
    HISTORY,
    LOCK,
    MAKE,
    NO_LIMITS,
    OUTCOME,
    READ_ONLY,
    READS,
    RETRY_S,
    SET_LOCAL,
    SNAPSHOT,
    UNKNOWN,
    WRITES,
    WRITTEN,
    WRONG_CLOCK,
    Facts,
    Growth,
    OwnTransaction,
    VaultLock,
    commit,
    each_row,
    last_row,
    postgres_sql,
)

if TYPE_CHECKING:
    from recollect_postgres.merging import Merging
    from recollect_postgres.segments import WordSegments

Read = TypeVar("Read")


class PostgresDatabase:
    """A vault by its name; a missing one is created. Safe for several threads."""

    locked = at_rest = False  # encrypting a database's disks is its operator's task

    def __init__(
        self,
        url: str,
        vault: str,
        *,
        retry_s: float = RETRY_S,
        read_url: str = "",
        max_staleness_s: float = 0.0,
    ) -> None:
        self._pool = pool_of(url)
        self._replica = Replica(read_url, max_staleness_s) if read_url else None
        self.place = self._pool.place
        self._retry_s = retry_s
        self._local = threading.local()
        self._key = 0
        self._frozen = self._closed = False
        try:
            self._open(vault)
        except BaseException:
            self.close()
            raise

    def _open(self, vault: str) -> None:
        with self._transaction("", READS) as connection:
            check_version(connection, self.place)
            self._frozen = bool(connection.execute(READ_ONLY).fetchall()[0][0])
            if not (rows := connection.execute(FIND, (vault,)).fetchall()):
                connection.execute(MAKE, (vault, os.urandom(32)))
                rows = connection.execute(FIND, (vault,)).fetchall()
            [(self._key, self.secret)] = rows

    @property
    def frozen(self) -> bool:
        """True while it can only be read: a replica may have become the primary meanwhile."""
        if self._frozen:
            self._frozen = bool(self.rows(READ_ONLY)[0][0])
        return self._frozen

    def attach(self, words: WordSegments, merging: Merging) -> None:
        """Set the objects that filters and writes need; they need a database themselves."""
        self.words, self.merging = words, merging

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return all rows of a statement."""
        if getattr(self._local, "block", None) is not None:
            with self._reading("") as connection:
                return connection.execute(sql, values or None, binary=True).fetchall()
        with as_store_errors(self.place):
            connection, rows = self._reach(partial(self._alone, sql, values))
            self._pool.give(connection)
            return rows

    def sql(self, text: str) -> str:
        return postgres_sql(text)

    def among(self, values: Iterable[str | int]) -> list[str | int]:
        return [*values]

    def replica_rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return rows from a replica, which may be older."""
        assert self._replica is not None
        pool = self._replica.pool
        with as_store_errors(pool.place):
            connection, rows = pool.reach(partial(self._alone, sql, values), lambda _: False)
            pool.give(connection)
            return rows

    def _alone(
        self, sql: str, values: tuple[object, ...], connection: Connection
    ) -> list[tuple[Any, ...]]:
        """Return the rows of a statement in its own transaction, in one round trip."""
        with connection.pipeline():
            connection.execute("BEGIN READ ONLY")
            connection.execute(SET_LOCAL, (str(self._key), f"{SEARCH_SECONDS * 1000:.0f}ms"))
            cursor = connection.execute(sql, values or None, binary=True)
            connection.execute("COMMIT")
        return cursor.fetchall()

    def _reach(self, use: Callable[[Connection], Read]) -> tuple[Connection, Read]:
        """Return a connection and the result of `use`; retry while the database is away."""
        if self._closed:
            raise StoreError(f"The vault in {self.place} is closed.")
        give_up = getattr(self._local, "give_up", None) or time.monotonic() + self._retry_s

        def retry(error: psycopg.Error) -> bool:
            if self._key == 0 and not any(words in str(error) for words in SOON):
                return False  # on opening, a wrong address is likelier than a primary's move
            known = self._frozen and isinstance(error, psycopg.errors.ReadOnlySqlTransaction)
            return not known and time.monotonic() < give_up

        return self._pool.reach(use, retry)

    def retrying(self, action: Callable[[], Read], *, repeatable: bool = False) -> Read:
        """Return the result of `action`; repeat it until a deadline if the connection is lost in
        its middle and nothing was written. `repeatable`: also if something was written."""
        outer = getattr(self._local, "give_up", None)
        if outer is None:
            self._local.wrote = False
        elif not repeatable:
            return action()
        self._local.give_up = give_up = outer or time.monotonic() + self._retry_s
        try:
            while True:
                try:
                    return action()
                except Interrupted:
                    done = self._local.wrote and not repeatable
                    if self._frozen or done or time.monotonic() > give_up:
                        raise
        finally:
            self._local.give_up = outer

    def reading(self) -> AbstractContextManager[Connection]:
        """Read as of one moment: yield a connection."""
        return self._reading(SNAPSHOT)

    @contextmanager
    def searching(self) -> Iterator[list[Degraded]]:
        """Read as of one moment for a search, perhaps from a replica; yield the notes for its
        response."""
        from_replica = None
        if self._replica is not None and getattr(self._local, "block", None) is None:
            begin = BEGIN.format(mode=SNAPSHOT, vault=self._key, first=READS)
            with as_store_errors(self._replica.pool.place):
                from_replica = self._replica.begin(begin, self.changes_now)
        if from_replica is None or self._replica is None:
            begun = getattr(self._local, "block", None) is not None
            with self.reading() if begun else self._transaction(SNAPSHOT, READS, facts=True):
                yield self._local.block.notes
            return
        try:
            with (
                as_store_errors(self._replica.pool.place),
                self._block(self._replica.pool, from_replica[0], snapshot=True) as block,
            ):
                block.notes += from_replica[1]
                yield block.notes
        except Interrupted:
            self._replica.note_failure()
            raise

    def changes_now(self) -> int:
        """Return the primary's number of writes, without waiting for it."""
        with self.without_waiting():
            return int(self.rows(CHANGES)[0][0])

    @property
    def primary_is_away(self) -> bool:
        """True if the last search went to a replica because the primary did not answer."""
        return self._replica is not None and self._replica.primary_is_away

    def facts(self, connection: Connection) -> Facts:
        """Return the state of the vault in this thread's transaction."""
        block: OwnTransaction = self._local.block
        if block.facts is not None:
            return block.facts
        facts = Facts(*connection.execute(FACTS, binary=True).fetchall()[0])
        if block.snapshot:
            block.facts = facts
        return facts

    def facts_changed(self) -> None:
        """Drop the facts of this thread's transaction, which its write has changed."""
        self._local.block.facts = None
        self._local.block.found = {}

    def found(self) -> dict[str, Stored | None]:
        """Return the memories by id that this thread's transaction has read."""
        block: OwnTransaction = self._local.block
        return {} if block.facts is None else block.found

    def note(self, channel: str, reason: str) -> None:
        """Add a note to the response of the search that is running."""
        self._local.block.notes.append(Degraded(channel, reason))

    @contextmanager
    def _reading(self, mode: str) -> Iterator[Connection]:
        block: OwnTransaction | None = getattr(self._local, "block", None)
        if block is None:
            with self._transaction(mode, READS) as connection:
                yield connection
        else:
            with as_store_errors(self.place):
                block.flush()
                yield block.connection

    @contextmanager
    def writing(self, *, facts: bool = False) -> Iterator[Connection]:
        """Hold the vault's write lock in a transaction, which is durable at its end.

        facts: read them with its beginning; the caller must call `facts_changed`.
        """
        lock = LOCK if may_wait() else f"{LOCK} NOWAIT"
        token = os.urandom(16).hex()
        with self._transaction("", f"{WRITES}; {lock}", token, facts=facts) as connection:
            yield connection

    @property
    def lock(self) -> VaultLock:
        """The state in which this thread's write found the vault."""
        lock: VaultLock = self._local.lock
        return lock

    def history_now(self) -> tuple[int, int]:
        """Return the bytes of history and the number of the last write. This thread's last write
        has noted them for the first call; later calls ask the database."""
        noted, self._local.history = getattr(self._local, "history", None), None
        size, last = noted or self.rows(HISTORY)[0]
        return size, last

    def defer(self, flush: Callable[[], None], finish: Callable[[], Growth]) -> None:
        """Call `flush` before any read in this thread's write, and `finish` at its end."""
        self._local.block.flush, self._local.block.finish = flush, finish

    @contextmanager
    def _transaction(
        self, mode: str, first: str, token: str = "", *, facts: bool = False
    ) -> Iterator[Connection]:
        """Begin this thread's transaction, together with the statement `first`. A write has a
        token, by which its outcome can be found out."""
        with as_store_errors(self.place):
            first = f"{first}; {FACTS}" if facts else first
            begin = BEGIN.format(mode=mode, vault=self._key, first=first)
            connection, rows = self._reach(lambda connection: each_row(connection, begin))
            known = Facts(*rows.pop()) if facts and rows else None
            with self._block(
                self._pool, connection, snapshot=mode == SNAPSHOT, facts=known
            ) as block:
                if token:
                    self._local.lock = self._lock_of(*rows[0])
                yield connection
                if token:
                    self._commit(connection, token, block.finish)
                else:
                    connection.execute("COMMIT")

    @contextmanager
    def _block(
        self, pool: Pool, connection: Connection, *, snapshot: bool, facts: Facts | None = None
    ) -> Iterator[OwnTransaction]:
        """Make this the thread's transaction; return the connection at the end."""
        before = getattr(self._local, "block", None)
        self._local.block = OwnTransaction(connection, snapshot=snapshot, facts=facts)
        try:
            yield self._local.block
        finally:
            self._local.block = before
            pool.give(connection)

    def _lock_of(
        self, last_key: int, last_write: int, documents: int, now: float, version: int
    ) -> VaultLock:
        refuse_other_version(version, self.place)
        if (apart := abs(now - time.time())) > CLOCKS_DIFFER_S:
            raise StoreError(WRONG_CLOCK.format(place=self.place, seconds=apart))
        return VaultLock(last_key, last_write, documents)

    @contextmanager
    def side_transaction(self, first: str = NO_LIMITS) -> Iterator[Connection]:
        """Begin a second transaction without the vault's lock: for data that is not part of the
        memories or is not read yet, or for a lock that lasts as long as the block."""
        with self.plain_connection() as connection:
            connection.execute(BEGIN.format(mode="", vault=self._key, first=first))
            yield connection
            connection.execute("COMMIT")

    @contextmanager
    def plain_connection(self) -> Iterator[Connection]:
        """Yield a connection without a transaction or a vault."""
        with as_store_errors(self.place):
            connection, _ = self._reach(lambda connection: last_row(connection, "SELECT"))
            try:
                yield connection
            finally:
                self._pool.give(connection)

    def _commit(self, connection: Connection, token: str, finish: Callable[[], Growth]) -> None:
        try:
            with connection.pipeline():
                growth = finish()
                connection.execute(WRITTEN, (token,))
                done = connection.execute(DONE, growth)
                commit(connection)
            changes, *self._local.history = done.fetchall()[0]
            if self._replica is not None:
                self._replica.note_write(changes)
        except psycopg.Error as error:
            if not is_passing(error) or not self._was_committed(token):
                raise
        self._local.wrote = True

    def _was_committed(self, token: str) -> bool:
        """Return True if a write was committed whose connection was lost before the answer."""
        sql = BEGIN.format(mode="", vault=self._key, first=OUTCOME.format(token=token))
        try:
            connection, row = self._reach(lambda connection: last_row(connection, sql))
        except psycopg.Error as error:
            raise StoreError(UNKNOWN.format(place=self.place, seconds=self._retry_s)) from error
        self._pool.give(connection)
        return bool(row[0])

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Raise PostgreSQL's errors as StoreError."""
        with as_store_errors(self.place):
            yield

    def probe(self) -> None:
        """Raise the error that a search would raise now, without waiting."""
        with self.without_waiting():
            self.rows("SELECT 1 FROM memories WHERE vault = vault() LIMIT 1")

    @contextmanager
    def without_waiting(self) -> Iterator[None]:
        """Within the block, fail at once if the primary does not answer."""
        before = getattr(self._local, "give_up", None)
        self._local.give_up = time.monotonic()
        try:
            yield
        finally:
            self._local.give_up = before

    def probes(self) -> dict[str, Callable[[], None]]:
        replica = {} if self._replica is None else {"replica": self._replica.probe}
        return {"database": self.probe, **replica}

    def note_damage(self, sentence: str | None) -> None:
        """Do nothing: PostgreSQL itself refuses damaged data."""

    def close(self) -> None:
        self._closed = True
        for pool in (self._pool, *([] if self._replica is None else [self._replica.pool])):
            pool.leave()
