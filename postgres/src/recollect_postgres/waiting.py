"""The queue of memories that wait for a vector, shared by servers."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import accumulate
from typing import Any

from recollect.errors import StoreError
from recollect.store.base import WaitingMemory
from recollect.store.sqlite.vectors import SIZE, WINDOW
from recollect_postgres.database import PostgresDatabase
from recollect_postgres.pool import Connection

TEXT = "m.title || chr(10) || m.text || chr(10) || m.context"
TEXTS = f"""
SELECT m.key, {TEXT} FROM memories m
 WHERE m.vault = vault() AND m.key = ANY(%s) AND m.forgotten_at IS NULL"""
MODEL = "SELECT key, dimensions FROM models WHERE vault = vault() AND identity = %s"
FREE = """
 AND (w.taken_until IS NULL OR w.taken_until < now() OR w.owner IN ('{owner}', '{own}'))"""
# Longer than any batch takes, even one long text.
TAKE = """
UPDATE waiting SET owner = %s, taken_until = now() + interval '10 minutes'
 WHERE vault = vault() AND memory = ANY(%s) AND model = %s"""
RELEASE = """
UPDATE waiting SET owner = NULL, taken_until = NULL
 WHERE vault = vault() AND memory = ANY(%s) AND owner = %s"""
LEASE = "SELECT pg_try_advisory_xact_lock(1380142165, vault()::integer)"  # "RCLU" as a number

_START = os.urandom(12).hex()


def own_mark() -> str:
    """Return the owner's mark of memories that this process has just saved."""
    return f"{_START}{os.getpid():08x}"


class Lease:
    """A thread's right to embed, and the memories it has taken."""

    def __init__(self, resources: ExitStack) -> None:
        self.owner = os.urandom(16).hex()
        self.keys: list[int] = []
        self._resources = resources
        self._first = False

    def first(self, database: PostgresDatabase) -> bool:
        """Return True if no other process embeds for a model that has no vectors yet."""
        if not self._first:
            connection = self._resources.enter_context(database.side_transaction())
            self._first = bool(connection.execute(LEASE).fetchall()[0][0])
        return self._first


class WaitingMemories:
    """The part of a vector index that hands out memories to embed."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database
        self._local = threading.local()
        self._turn = threading.RLock()

    def waiting(
        self,
        identity: str,
        limit: int,
        *,
        size: int | None = None,
        among: Sequence[str] | None = None,
        without: Collection[int] = (),
    ) -> list[WaitingMemory]:
        lease: Lease | None = getattr(self._local, "lease", None)
        if lease is not None and among is None:
            with self._database.side_transaction() as connection:
                return self._take(connection, lease, identity, limit, size, without)
        with self._database.reading() as connection:
            rows = _smallest(connection, identity, limit, among, without)
            return _within(connection, rows, size)

    def _take(
        self,
        connection: Connection,
        lease: Lease,
        identity: str,
        limit: int,
        size: int | None,
        without: Collection[int],
    ) -> list[WaitingMemory]:
        """Take the smallest waiting memories that no other lease has taken."""
        models = connection.execute(MODEL, (identity,)).fetchall()
        if not models and not lease.first(self._database):
            return []  # another process makes the model's first vectors; then there is a queue
        batch = _within(
            connection, _smallest(connection, identity, limit, None, without, lease.owner), size
        )
        if models:
            keys = [one.key for one in batch]
            lease.keys.extend(keys)
            connection.execute(TAKE, (lease.owner, keys, models[0][0]))
        return batch

    @contextmanager
    def lease(self) -> Iterator[bool]:
        """Reserve what `waiting` returns in the block until it ends or, if the process dies, for
        some minutes. So servers share the work. The threads of one process embed in turn, so that
        one that has waited finds everything embedded; yield False if another thread embeds."""
        if not self._turn.acquire(blocking=False):
            yield False
            return
        before = getattr(self._local, "lease", None)
        with ExitStack() as resources:
            resources.callback(self._turn.release)
            self._local.lease = lease = Lease(resources)
            try:
                yield True
            finally:
                self._local.lease = before
                if lease.keys:
                    with suppress(StoreError), self._database.side_transaction() as connection:
                        connection.execute(RELEASE, (lease.keys, lease.owner))


def _smallest(
    connection: Connection,
    identity: str,
    limit: int,
    among: Sequence[str] | None,
    without: Collection[int],
    owner: str = "",
) -> list[tuple[int, int]]:
    """Return the keys and sizes of the smallest waiting memories: of those `among`, else of the
    core memories, else of the newest window. With an `owner`, leave out those that others have
    taken or are taking."""
    models = connection.execute(MODEL, (identity,)).fetchall()
    tables, condition = "memories m", "m.vault = vault() AND m.forgotten_at IS NULL"
    values: list[Any] = []
    if models:  # a model with vectors has a queue
        tables += " JOIN waiting w ON w.vault = vault() AND w.memory = m.key"
        condition += " AND w.model = %s" + (
            FREE.format(owner=owner, own=own_mark()) if owner else ""
        )
        values.append(models[0][0])
    locked = " FOR UPDATE OF w SKIP LOCKED" if owner and models else ""
    condition += " AND m.key <> ALL(%s::bigint[])"
    values.append([*without])

    def rows(narrow: str, *more: Any, order: str = "size, m.key", most: int = limit) -> list[Any]:
        sql = f"""SELECT m.key, {SIZE} AS size FROM {tables} WHERE {condition} AND {narrow}
            ORDER BY {order} LIMIT %s{locked}"""
        return connection.execute(sql, (*values, *more, most)).fetchall()

    if among is not None:
        return rows("m.id = ANY(%s)", [*among])
    if core := rows("m.tier = 'core'"):
        return core
    newest = rows("true", order="m.key DESC", most=1)
    return rows("m.key >= %s", newest[0][0] // WINDOW * WINDOW) if newest else []


def _within(
    connection: Connection, rows: Sequence[tuple[int, int]], size: int | None
) -> list[WaitingMemory]:
    """Return as many of these memories as fit into this size, at least one, with their texts."""
    keys = [key for key, _ in rows]
    if size is not None:
        fitting = sum(total <= size for total in accumulate(length for _, length in rows))
        keys = keys[: max(fitting, 1)]
    texts = texts_of(connection, keys)
    return [WaitingMemory(key, texts[key]) for key in keys if key in texts]


def texts_of(connection: Connection, keys: Sequence[int]) -> dict[int, str]:
    """Return the text to embed of each of these memories that is live."""
    return {key: text.strip() for key, text in connection.execute(TEXTS, ([*keys],))}
