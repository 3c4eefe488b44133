"""What was captured and waits for a decision, and which sentences were decided."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from recollect.store.base import CAPTURED_KEPT, CapturedRemark
from recollect.store.vault import SqlDatabase
from recollect.times import from_micros, moved, to_micros

# A sentence that is known stays as it is, but for where it stands: before a turn is in the
# transcript, its line is an estimate.
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


class CapturedRemarks:
    def __init__(self, database: SqlDatabase) -> None:
        self._database, self._sql = database, database.sql

    def waiting(self) -> list[CapturedRemark]:
        """What nobody has decided, the oldest first."""
        return [
            CapturedRemark(mark, from_micros(at), *texts, msgspec.json.decode(fields))  # type: ignore[call-arg]
            for mark, at, *texts, fields in self._database.rows(self._sql(WAITING))
        ]

    def known(self, marks: Sequence[bytes]) -> dict[bytes, str | None]:
        """Those of the marks that were captured before, and where they stand; None: decided."""
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
        """Decided: what was said goes from here, and with it the marks of long ago."""
        with self._database.writing() as connection:
            connection.execute(self._sql(SETTLE), (mark,))
            long_ago = to_micros(moved(now, -CAPTURED_KEPT))
            connection.execute(self._sql(FORGET), (long_ago,))
