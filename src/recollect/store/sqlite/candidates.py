"""What was captured and waits for a decision, and which sentences were decided."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from recollect.store.base import CAPTURED_KEPT, CapturedRemark
from recollect.store.sqlite.connection import Database
from recollect.times import from_micros, moved, to_micros

# A sentence that is known stays as it is, but for where it stands: before a turn is in the
# transcript, its line is an estimate.
ADD = """
INSERT INTO candidates VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE
   SET place = excluded.place WHERE fields <> '' AND place <> excluded.place"""
WAITING = """
SELECT mark, at, client, session, user, form, place, fields FROM candidates
 WHERE fields <> '' ORDER BY at, mark"""
KNOWN = "SELECT mark, iif(fields = '', NULL, place) FROM candidates WHERE mark IN"
SETTLE = "UPDATE candidates SET fields = '', place = '' WHERE mark = ?"
FORGET = "DELETE FROM candidates WHERE fields = '' AND at < ?"


class SqliteCandidates:
    def __init__(self, database: Database) -> None:
        self._database = database

    def waiting(self) -> list[CapturedRemark]:
        """What nobody has decided, the oldest first."""
        return [
            CapturedRemark(mark, from_micros(at), *texts, msgspec.json.decode(fields))  # type: ignore
            for mark, at, *texts, fields in self._database.rows(WAITING)
        ]

    def known(self, marks: Sequence[bytes]) -> dict[bytes, str | None]:
        """Those of the marks that were captured before, and where they stand; None: decided."""
        sql = f"{KNOWN} ({', '.join('?' * len(marks))})"
        return dict(self._database.rows(sql, *marks))  # type: ignore[arg-type]

    def add(self, candidates: Sequence[CapturedRemark]) -> None:
        with self._database.writing() as connection:
            for each in candidates:
                fields = msgspec.json.encode(each.fields).decode()
                values = each._replace(at=to_micros(each.at), fields=fields)  # type: ignore
                connection.execute(ADD, values)

    def settle(self, mark: bytes, now: datetime) -> None:
        """Decided: what was said goes from here, and with it the marks of long ago."""
        with self._database.writing() as connection:
            connection.execute(SETTLE, (mark,))
            connection.execute(FORGET, (to_micros(moved(now, -CAPTURED_KEPT)),))
