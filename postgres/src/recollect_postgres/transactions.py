"""The statements around each transaction of a vault, and the state of a thread's transaction."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, NamedTuple

from recollect.store.base import Stored
from recollect.types import Degraded
from recollect_postgres.migration import SCHEMA
from recollect_postgres.pool import BUSY_SECONDS, SEARCH_SECONDS, Connection

BEGIN = f"BEGIN {{mode}}; {SCHEMA}; SET LOCAL recollect.vault = '{{vault}}'; {{first}}"
SET_LOCAL = """
SELECT set_config('search_path', 'recollect, public', true),
       set_config('recollect.vault', %s, true), set_config('statement_timeout', %s, true)"""
READS = f"SET LOCAL statement_timeout = '{SEARCH_SECONDS:.0f}s'"
# A writer whose machine vanishes holds the vault's lock no longer than this.
WRITES = f"""SET LOCAL lock_timeout = '{BUSY_SECONDS:.0f}s'; SET LOCAL tcp_keepalives_idle = 10;
SET LOCAL tcp_keepalives_interval = 5; SET LOCAL tcp_keepalives_count = 3"""
NO_LIMITS = "SET LOCAL idle_in_transaction_session_timeout = 0"
SNAPSHOT = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
READ_ONLY = "SELECT pg_is_in_recovery() OR current_setting('transaction_read_only')::bool"
FIND = "SELECT key, secret FROM vaults WHERE name = %s"
MAKE = "INSERT INTO vaults (name, secret) VALUES (%s, %s) ON CONFLICT DO NOTHING"
LOCK = """
SELECT last_key, last_write, documents, extract(epoch FROM clock_timestamp())::float8,
       (SELECT max(number) FROM migrations)
  FROM vaults WHERE key = vault() FOR UPDATE"""
WRITTEN = "INSERT INTO outcomes VALUES (vault(), %s)"
DONE = """
UPDATE vaults SET changes = changes + 1, last_key = greatest(last_key, %s),
       last_write = greatest(last_write, %s), documents = documents + %s,
       forgotten = forgotten + %s, history_bytes = history_bytes + %s
 WHERE key = vault() RETURNING changes, history_bytes, last_write"""
# Nearly every search and save needs these; they are read with the beginning of its transaction. The
# ORDER BY makes PostgreSQL look for archived memories by their index, however many it expects.
FACTS = """
SELECT documents,
       ARRAY(SELECT number FROM segments WHERE vault = vault() AND ready ORDER BY number),
       (SELECT coalesce(max(seq), 0) FROM segment_changes WHERE vault = vault()),
       (SELECT archived_at FROM memories WHERE vault = vault() AND archived_at IS NOT NULL
           AND forgotten_at IS NULL ORDER BY archived_at LIMIT 1) IS NOT NULL
  FROM vaults WHERE key = vault()"""
HISTORY = "SELECT history_bytes, last_write FROM vaults WHERE key = vault()"
CHANGES = "SELECT changes FROM vaults WHERE key = vault()"
# With this lock the interrupted write cannot be running any more: it was committed, or never will
# be.
OUTCOME = f"""{WRITES}; SELECT 1 FROM vaults WHERE key = vault() FOR UPDATE;
SELECT count(*) FROM outcomes WHERE vault = vault() AND token = '{{token}}'; COMMIT"""
RETRY_S = 30.0
# Largest difference of clocks, which order history and memories.
CLOCKS_DIFFER_S = 300
UNKNOWN = (
    "The connection to {place} was lost while a write was confirmed, and did not come back within "
    "{seconds:g} seconds: it may have been written or not. Look for it before you write it again."
)
WRONG_CLOCK = (
    "The clock of this machine and that of {place} differ by {seconds:.0f} seconds, so nothing was "
    "written; set the wrong one right."
)
# Replacements of names in braces, in statements that both stores share (see `SqlDatabase`).
POSTGRES = {
    "own": "vault(), ",
    "key": "vault, ",
    "among": "= ANY(?)",
    "author": "author",
    "chunks": "chunks",
    "greatest": "greatest",
    "changed since": "newness <= -(?::bigint)",
    "newest first": "newness",
    "by time": "",
    "array": "array_agg",
    "in order": "",
}


class VaultLock(NamedTuple):
    """The state in which a write finds the vault: the last numbers of a memory and of a write, and
    the number of live memories."""

    last_key: int
    last_write: int
    documents: int


class Growth(NamedTuple):
    """The changes of a write: its last numbers; added memories and bytes of history."""

    last_key: int = 0
    last_write: int = 0
    documents: int = 0
    forgotten: int = 0
    history_bytes: int = 0


class Facts(NamedTuple):
    """The state of a vault: the number of live memories, the numbers of its segments, the last
    change that is logged for them, and True if any live memory is archived."""

    documents: int
    segments: Sequence[int]
    seq: int
    any_archived: bool


class OwnTransaction:
    """A thread's running transaction.

    snapshot: it reads as of one moment.
    facts: the vault's state, if it was read and is current.
    found: memories that were read since.
    flush: writes deferred changes, so that reads see them.
    finish: writes what is written once per transaction.
    notes: notes for the response of a search.
    """

    def __init__(
        self, connection: Connection, *, snapshot: bool, facts: Facts | None = None
    ) -> None:
        self.connection = connection
        self.facts = facts
        self.notes: list[Degraded] = []
        self.flush: Callable[[], None] = lambda: None
        self.finish: Callable[[], Growth] = Growth
        self.found: dict[str, Stored | None] = {}
        self.snapshot = snapshot


def commit(connection: Connection) -> None:
    connection.execute("COMMIT")


def last_row(connection: Connection, sql: str) -> Any:
    """Return the first row of the last statement that has rows."""
    rows = each_row(connection, sql)
    return rows[-1] if rows else None


def each_row(connection: Connection, sql: str) -> list[Any]:
    """Return the first row of each statement that has rows."""
    cursor, rows = connection.execute(sql), []
    while True:
        if cursor.description and (row := cursor.fetchone()) is not None:
            rows.append(row)
        if not cursor.nextset():
            return rows


@cache
def postgres_sql(text: str) -> str:
    """Return a statement that both stores share in PostgreSQL's form."""
    written = re.sub(
        r"\{([^}]+)\}", lambda name: POSTGRES.get(name[1], f"{name[1]} = vault()"), text
    )
    return written.replace("?", "%s")
