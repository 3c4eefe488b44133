"""Tokens, browser sessions, links, wrong logins and logs of a vault in PostgreSQL, shared by its
servers: a change by one holds for the next request to any other."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from typing import Any

from psycopg.conninfo import conninfo_to_dict

from recollect.auth.access import AttemptCounts, LineLog, Statement, Value
from recollect.deadline import may_wait
from recollect.errors import Interrupted, StoreError
from recollect.settings import StoreSettings
from recollect_postgres.database import PostgresDatabase
from recollect_postgres.replica import AGAIN_S
from recollect_postgres.transactions import READS, postgres_sql

# As many lines as the log files of a vault in a file hold.
MOST_AUDITED, MOST_READS = 100_000, 4_000
# Lines that wait for the database; beyond that the oldest are dropped.
MOST_WAITING = 1_000
GATHER_S = 0.05  # pause before a write, so that it takes the lines of several searches
APPEND = """
WITH counted AS (
    INSERT INTO logs AS l (log, last) VALUES (?, ?)
    ON CONFLICT (vault, log) DO UPDATE SET last = l.last + excluded.last RETURNING log, last
)
INSERT INTO log_lines (log, number, line)
SELECT log, last - ? + place, line
  FROM counted, unnest(?::text[]) WITH ORDINALITY AS t (line, place)"""
TRIM = """
DELETE FROM log_lines WHERE {vault} AND log = ? AND number <=
    (SELECT last FROM logs WHERE {vault} AND log = ?) - ?"""
NOT_DURABLE = "SET LOCAL synchronous_commit = off"
LAST = "SELECT last FROM logs WHERE {vault} AND log = ?"
LINES = """
SELECT number, line FROM log_lines WHERE {vault} AND log = ? AND number > ? ORDER BY number"""
AHEAD = """
SELECT extract(epoch FROM whole_again - clock_timestamp())::float8
  FROM attempts WHERE {vault} AND key = ?"""
PUT_OFF = """
INSERT INTO attempts AS a (key, whole_again)
VALUES (?, clock_timestamp() + make_interval(secs => ?))
ON CONFLICT (vault, key) DO UPDATE SET whole_again = least(
    greatest(a.whole_again, clock_timestamp()) + make_interval(secs => ?),
    clock_timestamp() + make_interval(secs => ?))"""
WHOLE = "DELETE FROM attempts WHERE {vault} AND whole_again < clock_timestamp()"


class PostgresAccess:
    """The access data of one vault; connects on first use."""

    remote = True

    def __init__(self, place: StoreSettings) -> None:
        self._place = place
        self._guard = threading.Lock()
        self._opened: PostgresDatabase | None = None
        # With a replica: when the primary last answered, and when to try it again.
        self._answered_at = -float("inf")
        self._retry_primary_at = 0.0
        self._logs = (
            PostgresLog(self, "audit", MOST_AUDITED, durable=True),
            PostgresLog(self, "reads", MOST_READS, durable=False),
        )
        self.audit: LineLog = self._logs[0]
        self.reads: LineLog = self._logs[1]
        self.attempts: AttemptCounts | None = PostgresCounts(self)

    @property
    def mark(self) -> str:
        """The database and the vault, without hosts: servers may list them in another order."""
        return f"{conninfo_to_dict(self._place.url).get('dbname')} {self._place.vault}"

    def rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """Return rows from the primary. While it is away, from the replica, for as long as that may
        answer searches, so that their callers are let in."""
        database, sql = self._database(), postgres_sql(sql)
        if self._place.read_url and time.monotonic() > self._retry_primary_at:
            with suppress(Interrupted), database.without_waiting():
                rows = database.rows(sql, *values)
                self._answered_at = time.monotonic()
                return rows
            self._retry_primary_at = time.monotonic() + AGAIN_S
        if time.monotonic() - self._answered_at <= self._place.max_staleness_s:
            with suppress(Interrupted):
                return database.replica_rows(sql, *values)
        return database.rows(sql, *values)

    def change(
        self, *statements: Statement | tuple[str, tuple[object, ...]]
    ) -> list[tuple[Any, ...]]:
        database = self._database()
        waiting = nullcontext() if may_wait() else database.without_waiting()
        with waiting, database.side_transaction(READS) as connection:
            for sql, values in statements:
                done = connection.execute(postgres_sql(sql), values)
            return done.fetchall() if done.description else []

    def close(self) -> None:
        for log in self._logs:
            log.close()
        with self._guard:
            opened, self._opened = self._opened, None
        if opened is not None:
            opened.close()

    def _database(self) -> PostgresDatabase:
        with self._guard:
            if self._opened is None:
                place = self._place
                self._opened = PostgresDatabase(
                    place.url, place.vault, retry_s=place.retry_s, read_url=place.read_url,
                    max_staleness_s=place.max_staleness_s,
                )  # fmt: skip
            return self._opened


class PostgresCounts:
    """Delays after wrong logins, by the database's clock."""

    def __init__(self, access: PostgresAccess) -> None:
        self._access = access

    def ahead_s(self, key: str) -> float:
        rows = self._access.rows(AHEAD, key)
        return float(rows[0][0]) if rows else 0.0

    def put_off(self, key: str, interval_s: float, most_s: float) -> None:
        self._access.change((WHOLE, ()), (PUT_OFF, (key, interval_s, interval_s, most_s)))


class PostgresLog:
    """A log whose lines a thread writes, so that no response waits for them. While the database is
    away they are kept in memory."""

    def __init__(self, access: PostgresAccess, name: str, most: int, *, durable: bool) -> None:
        self._access, self._name, self._most = access, name, most
        self._before: tuple[tuple[str, tuple[Value, ...]], ...] = (
            () if durable else ((NOT_DURABLE, ()),)
        )
        self._guard = threading.Lock()
        self._waiting: deque[str] = deque(maxlen=MOST_WAITING)
        self._writer: threading.Thread | None = None
        self._closing = threading.Event()

    def append(self, line: bytes) -> None:
        with self._guard:
            self._waiting.append(line.decode())
            if self._writer is None:
                self._writer = threading.Thread(target=self._write, name=f"recollect-{self._name}")
                self._writer.daemon = True
                self._writer.start()

    def size(self) -> int:
        rows = self._access.rows(LAST, self._name)
        return int(rows[0][0]) if rows else 0

    def since(self, start: int) -> Iterator[tuple[int, bytes]]:
        for number, line in self._access.rows(LINES, self._name, start):
            yield number, line.encode()

    def close(self) -> None:
        """Wait until all lines are written or dropped."""
        self._closing.set()
        while (writer := self._writer) is not None:
            writer.join()
        self._closing.clear()

    def _write(self) -> None:
        """Write the waiting lines until none are left."""
        pause = GATHER_S
        while True:
            self._closing.wait(pause)
            with self._guard:
                lines = [*self._waiting]
                self._waiting.clear()
                if not lines:
                    self._writer = None
                    return
            pause = GATHER_S if self._append(lines) else AGAIN_S

    def _append(self, lines: list[str]) -> bool:
        """Write the lines; return False if they wait for another try."""
        name, count = self._name, len(lines)
        try:
            self._access.change(
                *self._before,
                (APPEND, (name, count, count, lines)),
                (TRIM, (name, name, self._most)),
            )
            return True
        except StoreError as error:
            if isinstance(error, Interrupted) and not self._closing.is_set():
                with self._guard:
                    self._waiting = deque([*lines, *self._waiting], maxlen=MOST_WAITING)
                return False
            log = logging.getLogger("recollect.auth.audit")
            log.warning("Lines of the log `%s` that are lost: %d. %s", name, count, error)
            return True
