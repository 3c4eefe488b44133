"""What was captured and waits for a decision, and which sentences were decided."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from recollect.store.base import CAPTURED_KEPT, CapturedRemark
from recollect.store.postgres.database import PostgresDatabase
from recollect.times import from_micros, moved, to_micros

# A sentence that is known stays as it is, but for where it stands: before a turn is in the
# transcript, its line is an estimate.
ADD = """
INSERT INTO candidates AS c VALUES (vault(), %s, %s, %s, %s, %s, %s, %s, %s)
    ON CONFLICT (vault, mark) DO UPDATE
   SET place = excluded.place WHERE c.fields <> '' AND c.place <> excluded.place"""
WAITING = """
SELECT mark, at, client, session, author, form, place, fields FROM candidates
 WHERE vault = vault() AND fields <> '' ORDER BY at, mark"""
KNOWN = """
SELECT mark, CASE fields WHEN '' THEN NULL ELSE place END FROM candidates
 WHERE vault = vault() AND mark = ANY(%s)"""
SETTLE = "UPDATE candidates SET fields = '', place = '' WHERE vault = vault() AND mark = %s"
FORGET = "DELETE FROM candidates WHERE vault = vault() AND fields = '' AND at < %s"


class PostgresCandidates:
    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def waiting(self) -> list[CapturedRemark]:
        return [
            CapturedRemark(mark, from_micros(at), *texts, msgspec.json.decode(fields))  # type: ignore[call-arg]
            for mark, at, *texts, fields in self._database.rows(WAITING)
        ]

    def known(self, marks: Sequence[bytes]) -> dict[bytes, str | None]:
        return dict(self._database.rows(KNOWN, [*marks]))

    def add(self, candidates: Sequence[CapturedRemark]) -> None:
        with self._database.writing() as connection:
            for mark, at, *texts, fields in candidates:
                values = (mark, to_micros(at), *texts, msgspec.json.encode(fields).decode())
                connection.execute(ADD, values)

    def settle(self, mark: bytes, now: datetime) -> None:
        with self._database.writing() as connection:
            connection.execute(SETTLE, (mark,))
            connection.execute(FORGET, (to_micros(moved(now, -CAPTURED_KEPT)),))
