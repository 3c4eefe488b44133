"""What one write transaction adds to history."""

from __future__ import annotations

import apsw

from recollect.store.base import Stored
from recollect.store.differences import MADE, difference, number_of
from recollect.store.history import Change
from recollect.store.version_rows import VERSION_BYTES, WRITE_BYTES
from recollect.times import to_micros

BYTES = "history_bytes"  # in `meta`: how many bytes history takes, about
INSERT_WRITE = """
    INSERT INTO writes (operation, at, action, interface, client, user, automatic, reason, target,
                        undoes)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq"""
INSERT = "INSERT INTO versions VALUES (?, ?, ?)"
LAST = "SELECT before FROM versions WHERE memory = ? ORDER BY write DESC LIMIT 1"
GROW = "INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = value + excluded.value"


class VersionsChange:
    """The memories that a write has made and changed; each with what it was before the write."""

    def __init__(self, connection: apsw.Connection, change: Change) -> None:
        self._connection = connection
        self._change = change
        self._made: set[int] = set()
        self._changed: dict[int, tuple[Stored, Stored]] = {}
        self._purged: set[int] = set()
        self.write: int | None = None

    def made(self, key: int) -> None:
        self._made.add(key)

    def changed(self, before: Stored, after: Stored) -> None:
        if before.key not in self._made:
            first, _ = self._changed.get(before.key, (before, before))
            self._changed[before.key] = first, after

    def purge(self, stored: Stored) -> None:
        """Remove a memory's versions, the writes that changed nothing else, and its id wherever it
        is a target."""
        self._made.discard(stored.key)
        self._changed.pop(stored.key, None)
        execute = self._connection.execute
        rows = execute("SELECT write, before FROM versions WHERE memory = ?", (stored.key,))
        removed = [(int(write), len(before)) for write, before in rows]
        execute("DELETE FROM versions WHERE memory = ?", (stored.key,))
        execute("UPDATE writes SET target = '' WHERE target = ?", (stored.memory.id,))
        gone = 0
        for write, _ in removed:
            execute(
                "DELETE FROM writes WHERE seq = ?1 "
                "AND NOT EXISTS (SELECT 1 FROM versions WHERE write = ?1)",
                (write,),
            )
            gone += self._connection.changes()
        self.grow(-sum(VERSION_BYTES + size for _, size in removed) - WRITE_BYTES * gone)

    def apply(self) -> None:
        """Write the versions; nothing where nothing was changed."""
        rows = [(key, MADE) for key in sorted(self._made)]
        for key, (before, after) in sorted(self._changed.items()):
            last = self._connection.execute(LAST, (key,)).get
            if made := difference(before, after, number_of(last or MADE) + 1):
                rows.append((key, made))
        if not rows:
            return
        action, author, clock, reason, target, operation, undoes = self._change
        number = operation.number if operation else None
        [(seq,)] = self._connection.execute(
            INSERT_WRITE,
            (
                number or 0, to_micros(clock()), action, author.interface, author.client,
                author.user, author.automatic, reason, target, undoes,
            ),
        ).fetchall()  # fmt: skip
        assert isinstance(seq, int)
        if number is None:
            self._connection.execute("UPDATE writes SET operation = seq WHERE seq = ?", (seq,))
        self._connection.executemany(INSERT, [(key, seq, before) for key, before in rows])
        self.grow(WRITE_BYTES + sum(VERSION_BYTES + len(before) for _, before in rows))
        self.write = seq

    def grow(self, size: int) -> None:
        if size:
            self._connection.execute(GROW, (BYTES, size))

    def committed(self) -> None:
        """Tell the operation its number, now that the write cannot be undone any more."""
        operation = self._change.operation
        if operation is not None and operation.number is None:
            operation.number = self.write


class NoVersions(VersionsChange):
    """Keeps nothing: of a vault that nobody changes."""

    def apply(self) -> None:
        """Write nothing."""
