"""One vault in PostgreSQL: transactions, each of them about this vault alone."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg

from recollect.errors import Interrupted, StoreError
from recollect.retry import waits
from recollect.store.base import Stored
from recollect.types import Degraded
from recollect_postgres.errors import SEARCH_SECONDS, SOON, as_store_errors, is_passing
from recollect_postgres.migration import check_version, refuse_other_version
from recollect_postgres.pool import Connection, Pool, pool_of
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
    """A vault by its name; it is made where there is none. Threads may use it at the same time."""

    locked = at_rest = False  # whoever runs a database encrypts its disks

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
            if not (found := connection.execute(FIND, (vault,)).fetchall()):
                connection.execute(MAKE, (vault, os.urandom(32)))
                found = connection.execute(FIND, (vault,)).fetchall()
            [(self._key, self.secret)] = found

    @property
    def frozen(self) -> bool:
        """Whether it can only be read; a replica may have become the primary meanwhile."""
        if self._frozen:
            self._frozen = bool(self.rows(READ_ONLY)[0][0])
        return self._frozen

    def attach(self, words: WordSegments, merging: Merging) -> None:
        """Give it what filters and writes need, and what needs a database itself."""
        self.words, self.merging = words, merging

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """All rows of a statement."""
        if getattr(self._local, "block", None) is not None:
            with self._reading("") as connection:
                return connection.execute(sql, values or None, binary=True).fetchall()
        with as_store_errors(self.place):
            connection, rows = self._reached(partial(self._alone, sql, values))
            self._pool.give(connection)
            return rows

    def sql(self, text: str) -> str:
        return postgres_sql(text)

    def listed(self, values: Iterable[str | int]) -> list[str | int]:
        return [*values]

    def replica_rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return the rows as a replica has them, which may be older."""
        assert self._replica is not None
        pool = self._replica.pool
        with as_store_errors(pool.place):
            connection, rows = pool.reached(partial(self._alone, sql, values), lambda _: False)
            pool.give(connection)
            return rows

    def _alone(
        self, sql: str, values: tuple[object, ...], connection: Connection
    ) -> list[tuple[Any, ...]]:
        """The rows of a statement in a transaction of its own, all of it sent at once."""
        with connection.pipeline():
            connection.execute("BEGIN READ ONLY")
            connection.execute(SET_LOCAL, (str(self._key), f"{SEARCH_SECONDS * 1000:.0f}ms"))
            found = connection.execute(sql, values or None, binary=True)
            connection.execute("COMMIT")
        return found.fetchall()

    def _reached(self, use: Callable[[Connection], Read]) -> tuple[Connection, Read]:
        """A connection, and what `use` made with it. A database that is away is waited for."""
        if self._closed:
            raise StoreError(f"The vault in {self.place} is closed.")
        give_up = getattr(self._local, "give_up", None) or time.monotonic() + self._retry_s

        def retry(error: psycopg.Error) -> bool:
            if self._key == 0 and not any(words in str(error) for words in SOON):
                return False  # when it is opened, a wrong address is likelier than a primary's move
            known = self._frozen and isinstance(error, psycopg.errors.ReadOnlySqlTransaction)
            return not known and time.monotonic() < give_up

        return self._pool.reached(use, retry)

    def retrying(self, action: Callable[[], Read], *, repeatable: bool = False) -> Read:
        """Return what `action` returns; call it again where the connection is lost in its middle
        and nothing of it was written, until the time for that is over. `repeatable`: call it again
        whatever it has written."""
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
        """A connection; what is read in the block is of one moment."""
        return self._reading(SNAPSHOT)

    @contextmanager
    def searching(self) -> Iterator[list[Degraded]]:
        """Read as of one moment for a search, which a replica may answer; yield what its
        answer has to tell."""
        found = None
        if self._replica is not None and getattr(self._local, "block", None) is None:
            begin = BEGIN.format(mode=SNAPSHOT, vault=self._key, first=READS)
            with as_store_errors(self._replica.pool.place):
                found = self._replica.begun(begin, self.changes_now)
        if found is None or self._replica is None:
            begun = getattr(self._local, "block", None) is not None
            with self.reading() if begun else self._transaction(SNAPSHOT, READS, facts=True):
                yield self._local.block.notes
            return
        try:
            with (
                as_store_errors(self._replica.pool.place),
                self._block(self._replica.pool, found[0], snapshot=True) as block,
            ):
                block.notes += found[1]
                yield block.notes
        except Interrupted:
            self._replica.failed()
            raise

    def changes_now(self) -> int:
        """How many writes the primary has, which is not waited for."""
        with self.without_waiting():
            return int(self.rows(CHANGES)[0][0])

    @property
    def primary_is_away(self) -> bool:
        """Whether the search before this was left to a replica for that reason."""
        return self._replica is not None and self._replica.primary_is_away

    def facts(self, connection: Connection) -> Facts:
        """What the vault holds at the moment of this thread's transaction."""
        block: OwnTransaction = self._local.block
        if block.facts is not None:
            return block.facts
        facts = Facts(*connection.execute(FACTS, binary=True).fetchall()[0])
        if block.snapshot:
            block.facts = facts
        return facts

    def facts_changed(self) -> None:
        """This thread's write has changed what the vault holds."""
        self._local.block.facts = None
        self._local.block.found = {}

    def found(self) -> dict[str, Stored | None]:
        """What is known, in this thread's transaction, of memories by their ids."""
        block: OwnTransaction = self._local.block
        return {} if block.facts is None else block.found

    def note(self, channel: str, reason: str) -> None:
        """Let the answer that is read now tell this."""
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
        """A transaction that is the vault's only one that writes, and is durable at its end.
        `facts`: read what it will ask of the vault, and tell `facts_changed`."""
        lock = LOCK if waits() else f"{LOCK} NOWAIT"
        token = os.urandom(16).hex()
        with self._transaction("", f"{WRITES}; {lock}", token, facts=facts) as connection:
            yield connection

    @property
    def lock(self) -> VaultLock:
        """What this thread's write found."""
        lock: VaultLock = self._local.lock
        return lock

    def history_now(self) -> tuple[int, int]:
        """How many bytes history takes, and the number of the last write: as this thread's last
        write left it, which is asked once, else as it is."""
        noted, self._local.history = getattr(self._local, "history", None), None
        size, last = noted or self.rows(HISTORY)[0]
        return size, last

    def put_off(self, flush: Callable[[], None], finish: Callable[[], Growth]) -> None:
        """Call the one before anything is read in this thread's write, the other at its end."""
        self._local.block.flush, self._local.block.finish = flush, finish

    @contextmanager
    def _transaction(
        self, mode: str, first: str, token: str = "", *, facts: bool = False
    ) -> Iterator[Connection]:
        """A transaction of this thread, about this vault; `first` is sent together with its
        beginning. One that writes has a token, by which its outcome can be learned."""
        with as_store_errors(self.place):
            first = f"{first}; {FACTS}" if facts else first
            begin = BEGIN.format(mode=mode, vault=self._key, first=first)
            connection, found = self._reached(lambda connection: each_row(connection, begin))
            known = Facts(*found.pop()) if facts and found else None
            with self._block(
                self._pool, connection, snapshot=mode == SNAPSHOT, facts=known
            ) as block:
                if token:
                    self._local.lock = self._lock_of(*found[0])
                yield connection
                if token:
                    self._commit(connection, token, block.finish)
                else:
                    connection.execute("COMMIT")

    @contextmanager
    def _block(
        self, pool: Pool, connection: Connection, *, snapshot: bool, facts: Facts | None = None
    ) -> Iterator[OwnTransaction]:
        """Make this transaction the thread's; the connection goes back at the end."""
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
    def aside(self, first: str = NO_LIMITS) -> Iterator[Connection]:
        """A transaction beside this thread's own, without the vault's lock: for what is no part of
        the memories, what nobody reads yet, or a lock that lasts as long as the block."""
        with self.outside() as connection:
            connection.execute(BEGIN.format(mode="", vault=self._key, first=first))
            yield connection
            connection.execute("COMMIT")

    @contextmanager
    def outside(self) -> Iterator[Connection]:
        """A connection without a transaction, about no vault."""
        with as_store_errors(self.place):
            connection, _ = self._reached(lambda connection: last_row(connection, "SELECT"))
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
                self._replica.wrote(changes)
        except psycopg.Error as error:
            if not is_passing(error) or not self._committed(token):
                raise
        self._local.wrote = True

    def _committed(self, token: str) -> bool:
        """Whether a write was committed whose connection was lost before its answer came."""
        sql = BEGIN.format(mode="", vault=self._key, first=OUTCOME.format(token=token))
        try:
            connection, found = self._reached(lambda connection: last_row(connection, sql))
        except psycopg.Error as error:
            raise StoreError(UNKNOWN.format(place=self.place, seconds=self._retry_s)) from error
        self._pool.give(connection)
        return bool(found[0])

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Raise PostgreSQL's errors as StoreError."""
        with as_store_errors(self.place):
            yield

    def probe(self) -> None:
        """Raise what a search would raise that does not wait."""
        with self.without_waiting():
            self.rows("SELECT 1 FROM memories WHERE vault = vault() LIMIT 1")

    @contextmanager
    def without_waiting(self) -> Iterator[None]:
        """What is asked in the block fails at once where the primary does not answer."""
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
        """Nothing: PostgreSQL itself refuses what it finds damaged."""

    def close(self) -> None:
        self._closed = True
        for pool in (self._pool, *([] if self._replica is None else [self._replica.pool])):
            pool.leave()
