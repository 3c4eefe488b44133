"""One vault in PostgreSQL: transactions, each of them about this vault alone."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any, NamedTuple, Protocol, TypeVar

import psycopg

from recollect.errors import StoreError
from recollect.store.base import KeywordIndexName
from recollect.store.postgres.errors import BUSY_SECONDS, SEARCH_SECONDS, as_store_errors
from recollect.store.postgres.migration import SCHEMA, check_version, refuse_other_version
from recollect.store.postgres.pool import Connection, pool_of

BEGIN = f"BEGIN {{mode}}; {SCHEMA}; SET LOCAL recollect.vault = '{{vault}}'; {{first}}"
SET_LOCAL = """
SELECT set_config('search_path', 'recollect, public', true),
       set_config('recollect.vault', %s, true), set_config('statement_timeout', %s, true)"""
READS = f"SET LOCAL statement_timeout = '{SEARCH_SECONDS:.0f}s'"
WRITES = f"SET LOCAL lock_timeout = '{BUSY_SECONDS:.0f}s'"
NO_LIMITS = "SET LOCAL idle_in_transaction_session_timeout = 0"
SNAPSHOT = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
READ_ONLY = "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::bool"
FIND = "SELECT key, secret FROM vaults WHERE name = %s"
MAKE = "INSERT INTO vaults (name, secret) VALUES (%s, %s) ON CONFLICT DO NOTHING"
LOCK = """
SELECT last_key, last_write, pg_current_xact_id()::text, (SELECT max(number) FROM migrations)
  FROM vaults WHERE key = vault() FOR UPDATE"""
DONE = "UPDATE vaults SET changes = changes + 1 WHERE key = vault()"
OUTCOME = "SELECT pg_xact_status(%s::xid8)"


Read = TypeVar("Read")


class VaultLock(NamedTuple):
    """What a write finds when it is the only one: the numbers given last to a memory and to a
    write, and its own number in PostgreSQL."""

    last_key: int
    last_write: int
    transaction: str


class WordLookup(Protocol):
    """What a filter looks up."""

    def holding(self, indexes: Sequence[KeywordIndexName], words: Sequence[str]) -> list[int]:
        """The keys of the memories of which one of these indexes holds all the words."""


class AfterWrites(Protocol):
    """What follows writes."""

    def wrote(self) -> None: ...

    def resume(self) -> None: ...

    def run(self, *, scrub: bool = False) -> None: ...

    def close(self) -> None: ...


class _Block:
    """A thread's running transaction. `flush` writes what was put off, so that it is seen. `known`:
    what was read once and cannot change in it; None where it can."""

    def __init__(self, connection: Connection, *, snapshot: bool) -> None:
        self.connection = connection
        self.flush: Callable[[], None] = lambda: None
        self.known: dict[str, Any] | None = {} if snapshot else None


class PostgresDatabase:
    """A vault by its name; it is made where there is none. Threads may use it at the same time."""

    locked = at_rest = False  # whoever runs a database encrypts its disks

    def __init__(self, url: str, vault: str) -> None:
        self._pool = pool_of(url)
        self.place = self._pool.place
        self._local = threading.local()
        self._key = 0
        self._closed = False
        try:
            self._open(vault)
        except BaseException:
            self._pool.leave()
            raise

    def _open(self, vault: str) -> None:
        with self._transaction("", READS) as connection:
            check_version(connection, self.place)
            self.frozen = bool(connection.execute(READ_ONLY).fetchall()[0][0])
            if not (found := connection.execute(FIND, (vault,)).fetchall()):
                connection.execute(MAKE, (vault, os.urandom(32)))
                found = connection.execute(FIND, (vault,)).fetchall()
            [(self._key, self.secret)] = found

    def attach(self, words: WordLookup, merging: AfterWrites) -> None:
        """Give it what filters and writes need, and what needs a database itself."""
        self.words, self.merging = words, merging

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """All rows of a statement."""
        if getattr(self._local, "block", None) is not None:
            with self._reading("") as connection:
                return connection.execute(sql, values or None).fetchall()
        with as_store_errors(self.place):
            return self._alone(sql, values)

    def _alone(self, sql: str, values: tuple[object, ...]) -> list[tuple[Any, ...]]:
        """The rows of a statement in a transaction of its own, all of it sent at once."""
        connection = self._taken()
        for fresh in (False, True):
            try:
                with connection.pipeline():
                    connection.execute("BEGIN READ ONLY")
                    connection.execute(
                        SET_LOCAL, (str(self._key), f"{SEARCH_SECONDS * 1000:.0f}ms")
                    )
                    found = connection.execute(sql, values or None)
                    connection.execute("COMMIT")
                rows = found.fetchall()
                break
            except psycopg.OperationalError:
                if fresh or not connection.closed:
                    self._leave(connection)
                    raise
                connection = self._pool.take(fresh=True)  # it was cut off while nobody used it
            except BaseException:
                self._leave(connection)
                raise
        self._pool.give(connection)
        return rows

    def _taken(self) -> Connection:
        if self._closed:
            raise StoreError(f"The vault in {self.place} is closed.")
        return self._pool.take()

    def _leave(self, connection: Connection) -> None:
        """Give a connection back after an error, without a transaction."""
        if not connection.closed:
            connection.execute("ROLLBACK")
        self._pool.give(connection)

    def reading(self) -> AbstractContextManager[Connection]:
        """A connection; what is read in the block is of one moment."""
        return self._reading(SNAPSHOT)

    def once(self, name: str, read: Callable[[], Read]) -> Read:
        """What `read` returns; asked once in a block that reads one moment."""
        block: _Block | None = getattr(self._local, "block", None)
        if block is None or block.known is None:
            return read()
        if name not in block.known:
            block.known[name] = read()
        found: Read = block.known[name]
        return found

    @contextmanager
    def _reading(self, mode: str) -> Iterator[Connection]:
        block: _Block | None = getattr(self._local, "block", None)
        if block is None:
            with self._transaction(mode, READS) as connection:
                yield connection
        else:
            with as_store_errors(self.place):
                block.flush()
                yield block.connection

    @contextmanager
    def writing(self, *, patient: bool = True) -> Iterator[Connection]:
        """A transaction that is the vault's only one that writes, and is durable at its end. Who
        is not patient gets StoreError while another one writes."""
        lock = LOCK if patient else f"{LOCK} NOWAIT"
        with self._transaction("", f"{WRITES}; {lock}", DONE) as connection:
            yield connection

    @property
    def lock(self) -> VaultLock:
        """What this thread's write found."""
        lock: VaultLock = self._local.lock
        return lock

    def before_reads(self, flush: Callable[[], None]) -> None:
        """Call this before anything is read in this thread's write."""
        self._local.block.flush = flush

    @contextmanager
    def _transaction(self, mode: str, first: str, last: str = "") -> Iterator[Connection]:
        """A transaction of this thread, about this vault; `first` and `last` are sent together
        with its beginning and its end."""
        with as_store_errors(self.place):
            begin = BEGIN.format(mode=mode, vault=self._key, first=first)
            connection, found = self._begun(begin)
            before = getattr(self._local, "block", None)
            self._local.block = _Block(connection, snapshot=mode == SNAPSHOT)
            try:
                if last:
                    *lock, version = found
                    self._local.lock = VaultLock(*lock)
                    refuse_other_version(version, self.place)
                yield connection
                self._commit(connection, last)
            finally:
                self._local.block = before
                in_transaction = connection.info.transaction_status.name in ("INTRANS", "INERROR")
                (self._leave if in_transaction else self._pool.give)(connection)

    @contextmanager
    def aside(self) -> Iterator[Connection]:
        """A transaction beside this thread's own, without the vault's lock: for what nobody reads
        yet, or a lock that lasts as long as the block."""
        with self.outside() as connection:
            connection.execute(BEGIN.format(mode="", vault=self._key, first=NO_LIMITS))
            yield connection
            connection.execute("COMMIT")

    @contextmanager
    def outside(self) -> Iterator[Connection]:
        """A connection without a transaction, about no vault."""
        with as_store_errors(self.place):
            connection, _ = self._begun("SELECT")
            try:
                yield connection
            finally:
                in_transaction = connection.info.transaction_status.name in ("INTRANS", "INERROR")
                (self._leave if in_transaction else self._pool.give)(connection)

    def _begun(self, begin: str) -> tuple[Connection, tuple[Any, ...]]:
        """A connection after these statements, and the row that the last of them gave."""
        connection = self._taken()
        for fresh in (False, True):
            try:
                cursor = connection.execute(begin)
                while cursor.nextset():
                    pass
                row = cursor.fetchone() if cursor.description else None
                return connection, row or ()
            except psycopg.OperationalError:
                if fresh or not connection.closed:
                    self._leave(connection)
                    raise
                connection = self._pool.take(fresh=True)  # it was cut off while nobody used it
            except BaseException:
                self._leave(connection)
                raise
        raise AssertionError("a fresh connection begins, or raises")

    def _commit(self, connection: Connection, last: str) -> None:
        try:
            connection.execute(f"{last}; COMMIT" if last else "COMMIT")
        except psycopg.OperationalError:
            if not last or not connection.closed or not self._committed():
                raise

    def _committed(self) -> bool:
        """Whether a write was committed whose connection was lost before its answer came."""
        connection = self._pool.take(fresh=True)
        try:
            [(outcome,)] = connection.execute(OUTCOME, (self.lock.transaction,)).fetchall()
        finally:
            self._pool.give(connection)
        return bool(outcome == "committed")

    @contextmanager
    def translated(self) -> Iterator[None]:
        """Raise PostgreSQL's errors as StoreError."""
        with as_store_errors(self.place):
            yield

    def probe(self) -> None:
        """Raise what a search would raise."""
        self.rows("SELECT 1 FROM memories WHERE vault = vault() LIMIT 1")

    def note_damage(self, sentence: str | None) -> None:
        """Nothing: PostgreSQL itself refuses what it finds damaged."""

    def close(self) -> None:
        self._closed = True
        self._pool.leave()
