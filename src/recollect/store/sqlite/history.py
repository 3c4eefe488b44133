"""The history of memories in SQLite: what a write adds to it, and removing versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw
from msgspec.structs import replace

from recollect.store.base import Stored
from recollect.store.differences import FIELDS, MADE, changed_by, difference, earlier, number_of
from recollect.store.history import (
    VERSION_BYTES,
    WRITE_BYTES,
    Change,
    RemovableVersion,
    StoredHistory,
)
from recollect.store.sqlite.memories import READ, from_row
from recollect.times import to_micros

BYTES = "history_bytes"  # in `meta`: how many bytes history takes, about
INSERT_WRITE = """
    INSERT INTO writes (operation, at, action, interface, client, user, automatic, reason, target,
                        undoes)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING seq"""
INSERT = "INSERT INTO versions VALUES (?, ?, ?)"
VERSIONS = "SELECT write, before FROM versions WHERE memory = ? ORDER BY write DESC"
REMOVE_WRITE = """
    DELETE FROM writes WHERE seq = ?1 AND NOT EXISTS (SELECT 1 FROM versions WHERE write = ?1)"""
LINK = "superseded_by"
# A difference of this field has its place as a byte; some others have that byte, too.
LINKED = f"SELECT memory, before FROM versions WHERE instr(before, x'{FIELDS.index(LINK):02x}')"
LAST = "SELECT before FROM versions WHERE memory = ? ORDER BY write DESC LIMIT 1"
GROW = "INSERT INTO meta VALUES (?, ?) ON CONFLICT DO UPDATE SET value = value + excluded.value"
FROM = "history_from"  # in `meta`: the time at which history begins
SIZE = f"SELECT coalesce((SELECT CAST(value AS INTEGER) FROM meta WHERE key = '{BYTES}'), 0)"


class VersionsChange:
    """The memories that a write has created and changed, each with its state before the write."""

    def __init__(self, connection: apsw.Connection, change: Change) -> None:
        self._connection = connection
        self._change = change
        self._made: set[int] = set()
        self._changed: dict[int, tuple[Stored, Stored]] = {}
        self._purged: set[str] = set()
        self._linked: dict[int, Stored] = {}
        self.write: int | None = None

    def note_made(self, key: int) -> None:
        self._made.add(key)

    def note_changed(self, before: Stored, after: Stored) -> None:
        if before.key not in self._made:
            first, _ = self._changed.get(before.key, (before, before))
            self._changed[before.key] = first, after

    def purge(self, stored: Stored) -> None:
        """Remove a memory's versions, writes of nothing else, and its id as a target."""
        self._made.discard(stored.key)
        self._changed.pop(stored.key, None)
        self._purged.add(stored.memory.id)
        sql = "UPDATE writes SET target = '' WHERE target = ?"
        self._connection.execute(sql, (stored.memory.id,))
        self._remove(stored.key, self._versions(stored.key))

    def unlink(self, stored: Stored) -> None:
        """Note a memory as it was before its link to a purged one is removed."""
        if stored.key not in self._changed:
            self._linked.setdefault(stored.key, stored)

    def _versions(self, key: int) -> list[tuple[int, bytes]]:
        """Return the writes of a memory's versions and what was before each, newest first."""
        return self._connection.execute(VERSIONS, (key,)).fetchall()  # type: ignore[return-value]

    def _remove(self, key: int, versions: Sequence[tuple[int, bytes]]) -> None:
        """Remove versions of a memory, and the writes that changed nothing else."""
        gone = 0
        for write, _ in versions:
            sql = "DELETE FROM versions WHERE memory = ? AND write = ?"
            self._connection.execute(sql, (key, write))
            self._connection.execute(REMOVE_WRITE, (write,))
            gone += self._connection.changes()
        self.grow(-sum(VERSION_BYTES + len(before) for _, before in versions) - WRITE_BYTES * gone)

    def _without_links(self, stored: Stored) -> Stored:
        if stored.memory.superseded_by not in self._purged:
            return stored
        return stored._replace(memory=replace(stored.memory, superseded_by=""))

    def _unlink(self) -> None:
        """Remove links to purged memories from versions of others: an id has words of a title. All
        versions of a memory are written again, since each is made from the next."""
        rows = self._connection.execute(LINKED).fetchall()
        keys = {int(str(key)) for key, before in rows if LINK in changed_by(before)}  # type: ignore[arg-type]
        for key in sorted(keys):
            after = self._linked.get(key) or self._changed.get(key, (None,))[0]
            if after is None:
                [row] = self._connection.execute(f"{READ} WHERE m.key = ?", (key,)).fetchall()
                after = from_row(row)
            clean = self._without_links(after)
            for write, before in self._versions(key):
                if not before:
                    break
                earlier_one = earlier(after, before)
                assert earlier_one is not None
                made = self._without_links(earlier_one)
                new = difference(made, clean, number_of(before))
                if not new:
                    self._remove(key, [(write, before)])
                elif new != before:
                    sql = "UPDATE versions SET before = ? WHERE memory = ? AND write = ?"
                    self._connection.execute(sql, (new, key, write))
                    self.grow(len(new) - len(before))
                after, clean = earlier_one, made
        self._changed = {
            key: (self._without_links(before), self._without_links(now))
            for key, (before, now) in self._changed.items()
        }

    def apply(self) -> None:
        """Write the versions; nothing if nothing was changed."""
        if self._purged:
            self._unlink()
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


class NoVersions(VersionsChange):
    """Keeps no history, for a vault in memory."""

    def apply(self) -> None:
        """Write nothing."""


def remove(connection: apsw.Connection, versions: Sequence[RemovableVersion]) -> None:
    """Remove versions, and writes without versions; history then begins with the last of them."""
    if not versions:
        return
    connection.executemany(
        "DELETE FROM versions WHERE memory = ? AND write = ?",
        [(memory, write) for memory, write, _ in versions],
    )
    last = max(write for _, write, _ in versions)
    connection.execute(
        "INSERT INTO meta SELECT ?, max(at) FROM writes WHERE seq <= ? ON CONFLICT DO UPDATE "
        "SET value = max(CAST(value AS INTEGER), CAST(excluded.value AS INTEGER))",
        (FROM, last),
    )
    connection.execute(
        "DELETE FROM writes WHERE seq <= ? AND action <> 'migrate' "
        "AND NOT EXISTS (SELECT 1 FROM versions WHERE write = seq)",
        (last,),
    )
    freed = WRITE_BYTES * connection.changes()
    freed += sum(VERSION_BYTES + size for _, _, size in versions)
    connection.execute(GROW, (BYTES, -freed))


class SqliteHistory(StoredHistory):
    BEGINS = f"""
SELECT coalesce((SELECT value FROM meta WHERE key = '{FROM}'),
                (SELECT at FROM writes ORDER BY seq LIMIT 1))"""
    NOW = f"SELECT ({SIZE}), coalesce((SELECT max(seq) FROM writes), 0)"

    def _remove(self, connection: Any, rows: Sequence[RemovableVersion]) -> None:
        remove(connection, rows)
