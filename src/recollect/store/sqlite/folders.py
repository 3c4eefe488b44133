"""Folders and their files in SQLite."""

from __future__ import annotations

from recollect.store.file_rows import StoredFolders
from recollect.store.sqlite.connection import Database

# The folders come first: their files are found by an index.
FIRST_PARTS = """
SELECT j.value, m.id FROM folders o CROSS JOIN json_each(?) j
 CROSS JOIN files f ON f.folder = o.key AND f.path IN (
     j.value, iif(instr(j.value, o.path || '/') = 1, substr(j.value, length(o.path) + 2), ''))
  JOIN cuts c ON c.file = f.key
  JOIN memories m ON m.key = c.memory AND m.forgotten_at IS NULL
 WHERE f.gone_at IS NULL GROUP BY j.value HAVING c.number = min(c.number)"""


class SqliteFolders(StoredFolders):
    def __init__(self, database: Database) -> None:
        super().__init__(database, FIRST_PARTS)
