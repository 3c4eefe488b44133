"""Upkeep: decisions on review items, captured remarks, captures that age, and the trash."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from recollect.memory_json import memory_json
from recollect.store.memory_rows import ListedMemories
from recollect.store.vault import SET_NOTE, SqlDatabase
from recollect.times import from_micros, iso, shift, to_micros
from recollect.types import Filter, Memory

ALL = "SELECT item, decision, at, until FROM reviews WHERE {vault}"
DECIDE = """
INSERT INTO reviews VALUES ({own}?, ?, ?, ?) ON CONFLICT ({key}item) DO UPDATE
   SET decision = excluded.decision, at = excluded.at, until = excluded.until"""
ABOVE = """
SELECT key, id FROM memories
 WHERE {vault} AND key > ? AND forgotten_at IS NULL ORDER BY key LIMIT ?"""
CHANGED = """
SELECT 0, id FROM memories
 WHERE {vault} AND {changed since} AND forgotten_at IS NULL ORDER BY {newest first} LIMIT ?"""
MOST_CHANGED = 5_000
NOTE = "SELECT value FROM meta WHERE {vault} AND key = ?"
# A known sentence changes only its place: before a turn is in the transcript, its line is an
# estimate.
ADD = """
INSERT INTO candidates AS c VALUES ({own}?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT ({key}mark) DO UPDATE
   SET place = excluded.place WHERE c.fields <> '' AND c.place <> excluded.place"""
WAITING = """
SELECT mark, at, client, session, {author}, form, place, fields FROM candidates
 WHERE {vault} AND fields <> '' ORDER BY at, mark"""
KNOWN = """
SELECT mark, CASE fields WHEN '' THEN NULL ELSE place END FROM candidates
 WHERE {vault} AND mark IN"""
SETTLE = "UPDATE candidates SET fields = '', place = '' WHERE {vault} AND mark = ?"
FORGET = "DELETE FROM candidates WHERE {vault} AND fields = '' AND at < ?"
CAPTURES = """
  FROM memories m LEFT JOIN usage u ON {u.vault} AND u.memory = m.key
 WHERE <condition> AND m.tier = 'capture'"""
UNOPENED = " AND coalesce(u.opened, 0) + coalesce(u.accepted, 0) = 0"
BEYOND = f"""
SELECT id FROM (
    SELECT m.id, m.updated_at, row_number() OVER (
        PARTITION BY m.project
        ORDER BY {{greatest}}(m.updated_at, coalesce(u.last_at, 0)) DESC, m.id) AS place
    {CAPTURES}) AS placed
 WHERE place > ? ORDER BY updated_at, id"""
# Why a memory is gone, by the action of a write without a reason.
REASONS = {"sync": "its file changed", "mirror": "its mirrored file is gone"}
WRITES = """
SELECT m.id, w.action, w.reason, w.target, w.interface, w.client, w.{author}
  FROM memories m JOIN writes w ON {w.vault} AND w.seq =
       (SELECT max(v.write) FROM versions v WHERE {v.vault} AND v.memory = m.key)
 WHERE {m.vault} AND m.id {among} AND m.forgotten_at IS NOT NULL"""
MOST_MERGES = 100  # of merged memories merged again: a bound in case of a cycle
LAST_FIRST = "m.forgotten_at DESC, m.id"
AFTER = " AND m.forgotten_at <= ? AND (m.forgotten_at < ? OR m.id > ?)"
# How long a decided remark is remembered: its transcript may be read again until then.
CAPTURED_KEPT = timedelta(days=180)


class ReviewDecision(NamedTuple):
    """A decision on a review item, with its time. The item comes back at `until`."""

    decision: str
    at: datetime
    until: datetime | None


class CapturedRemark(NamedTuple):
    """A remark of a user that may be worth keeping: when and where, its form (see `capture.forms`),
    and the fields of a memory. Equal sentences of one session have equal `mark`s."""

    mark: bytes
    at: datetime
    client: str
    session: str
    user: str
    form: str
    place: str
    fields: Mapping[str, str]


class Reviews:
    def __init__(self, database: SqlDatabase) -> None:
        self._database, self._sql = database, database.sql

    def all(self) -> dict[str, ReviewDecision]:
        return {
            item: ReviewDecision(
                decision, from_micros(at), None if until is None else from_micros(until)
            )
            for item, decision, at, until in self._database.rows(self._sql(ALL))
        }

    def decide(self, item: str, decision: str, at: datetime, until: datetime | None = None) -> None:
        end = None if until is None else to_micros(until)
        with self._database.writing() as connection:
            values = (item, decision, to_micros(at), end)
            connection.execute(self._sql(DECIDE), values)

    def list_unchecked(self, key: int, changed_at: int, limit: int) -> list[tuple[int, str]]:
        """Return the keys and ids of up to `limit` live memories with a key above `key`, and of
        those changed since `changed_at`."""
        above = self._database.rows(self._sql(ABOVE), key, limit)
        changed = self._database.rows(self._sql(CHANGED), changed_at, MOST_CHANGED)
        return [(place, id) for place, id in above + changed]

    def note(self, key: str) -> str:
        """Return the note under this key; '' without one."""
        rows = self._database.rows(self._sql(NOTE), key)
        return str(rows[0][0]) if rows else ""

    def set_note(self, key: str, value: str) -> None:
        with self._database.writing() as connection:
            connection.execute(self._sql(SET_NOTE), (key, value))


class CapturedRemarks:
    def __init__(self, database: SqlDatabase) -> None:
        self._database, self._sql = database, database.sql

    def waiting(self) -> list[CapturedRemark]:
        """Return the remarks that wait for a decision, oldest first."""
        return [
            CapturedRemark(mark, from_micros(at), *texts, msgspec.json.decode(fields))  # type: ignore[call-arg]
            for mark, at, *texts, fields in self._database.rows(self._sql(WAITING))
        ]

    def find_places(self, marks: Sequence[bytes]) -> dict[bytes, str | None]:
        """Return the places of the marks that were captured before; None if decided."""
        if not marks:
            return {}
        sql = self._sql(f"{KNOWN} ({', '.join('?' * len(marks))})")
        return dict(self._database.rows(sql, *marks))

    def add(self, candidates: Sequence[CapturedRemark]) -> None:
        with self._database.writing() as connection:
            for mark, at, *texts, fields in candidates:
                values = (mark, to_micros(at), *texts, msgspec.json.encode(fields).decode())
                connection.execute(self._sql(ADD), values)

    def settle(self, mark: bytes, now: datetime) -> None:
        """Mark a remark as decided: remove its text, and remarks decided long ago."""
        with self._database.writing() as connection:
            connection.execute(self._sql(SETTLE), (mark,))
            long_ago = to_micros(shift(now, -CAPTURED_KEPT))
            connection.execute(self._sql(FORGET), (long_ago,))


class AgingCaptures:
    """Captured memories that may be obsolete. `where` turns a filter into a condition on the table
    memories, named `m`, and its values."""

    def __init__(
        self, database: SqlDatabase, where: Callable[[Filter], tuple[str, list[Any]]]
    ) -> None:
        self._database, self._sql = database, database.sql
        self._where = where

    def list_unchanged(self, filter: Filter, before: datetime, *, unless_useful: bool) -> list[str]:
        """Return captures not changed since `before`, oldest first; `unless_useful` leaves out
        those opened or accepted."""
        useful = UNOPENED if unless_useful else ""
        return self._oldest(filter, " AND m.updated_at < ?" + useful, before)

    def list_unreturned(self, filter: Filter, before: datetime) -> list[str]:
        """Return captures that were not changed, returned, opened or accepted since `before`."""
        unused = " AND m.updated_at < ? AND coalesce(u.last_at, 0) < ?"
        return self._oldest(filter, unused, before, before)

    def list_beyond(self, filter: Filter, most: int) -> list[str]:
        """Return the captures of each project without the `most` that were changed or used last."""
        return self._ids(BEYOND, filter, most)

    def list_weak(self, before: datetime, limit: int) -> list[str]:
        """Return captures without a source, made before `before` and never used."""
        nobody = " AND m.source = '' AND m.created_at < ? AND coalesce(u.last_at, 0) = 0"
        return self._oldest(Filter(), nobody, before)[:limit]

    def _oldest(self, filter: Filter, narrower: str, *moments: datetime) -> list[str]:
        sql = f"SELECT m.id {CAPTURES}{narrower} ORDER BY m.updated_at, m.id"
        return self._ids(sql, filter, *map(to_micros, moments))

    def _ids(self, sql: str, filter: Filter, *more: int) -> list[str]:
        condition, values = self._where(filter)
        sql = self._sql(sql).replace("<condition>", condition)
        return [id for (id,) in self._database.rows(sql, *values, *more)]


class TrashPlace(NamedTuple):
    """The position of a forgotten memory in the trash, for paging."""

    at: datetime
    id: str


class ForgottenMemory(NamedTuple):
    """A forgotten memory: when, by whom (the name of their token; empty: the owner), through which
    interface and program, and why: the action, its reason, and the id of the memory that it was
    merged into. Fields that history has lost are empty."""

    memory: Memory
    at: datetime
    action: str = ""
    reason: str = ""
    target: str = ""
    interface: str = ""
    client: str = ""
    user: str = ""

    @property
    def why(self) -> str:
        """`forgotten`, `its file is gone`, `merged into deploy-2`, `policy session-notes`."""
        if self.action == "merge":
            return f"merged into {self.target}"
        reason = self.reason.removesuffix(".")
        return f"{reason[:1].lower()}{reason[1:]}" or REASONS.get(self.action, "forgotten")

    @property
    def by(self) -> str:
        """The user and the program, as in `laptop, mcp`; the owner has no name."""
        return ", ".join(filter(None, (self.user, self.client or self.interface)))

    @property
    def place(self) -> TrashPlace:
        return TrashPlace(self.at, self.memory.id)


def trashed_json(trashed: ForgottenMemory) -> dict[str, object]:
    """Return a forgotten memory as JSON values."""
    return {
        "memory": memory_json(trashed.memory),
        "forgotten_at": iso(trashed.at),
        "why": trashed.why,
        "user": trashed.user,
        "interface": trashed.interface,
        "client": trashed.client,
    }


class Trash:
    def __init__(self, database: SqlDatabase, memories: ListedMemories) -> None:
        self._database = database
        self._memories = memories

    def list_forgotten(
        self, filter: Filter, limit: int, after: TrashPlace | None = None
    ) -> list[ForgottenMemory]:
        """Return forgotten memories, the latest first."""
        behind: tuple[Any, ...] = ()
        if after is not None:
            at = to_micros(after.at)
            behind = (AFTER, at, at, after.id)
        with self._database.reading():
            found = self._memories.select(filter, LAST_FIRST, limit, *behind, forgotten=True)
            written = _last_writes(self._database, [stored.memory.id for stored in found])
        return [
            ForgottenMemory(stored.memory, stored.forgotten_at, *written.get(stored.memory.id, ()))
            for stored in found
            if stored.forgotten_at is not None
        ]

    def count(self, filter: Filter) -> int:
        return self._memories.count(filter, forgotten=True)

    def find_merges(self, ids: Sequence[str]) -> dict[str, str]:
        return find_merges(self._database, ids)


def find_merges(database: SqlDatabase, ids: Sequence[str]) -> dict[str, str]:
    """Return the ids that were merged into another memory, with its id."""
    into: dict[str, str] = {}
    left = list(ids)
    for _ in range(MOST_MERGES):
        writes = _last_writes(database, left)
        found = {id: target for id, (action, _, target, *_) in writes.items() if action == "merge"}
        into |= found
        left = [target for target in found.values() if target not in into]
        if not left:
            break
    return {id: _follow_merges(into, id) for id in ids if id in into}


def _follow_merges(into: dict[str, str], id: str) -> str:
    for _ in range(MOST_MERGES):
        if id not in into:
            break
        id = into[id]
    return id


def _last_writes(database: SqlDatabase, ids: Sequence[str]) -> dict[str, list[Any]]:
    """Return the last write of each of these memories that is forgotten."""
    rows = database.rows(database.sql(WRITES), database.among(ids))
    return {id: write for id, *write in rows}
