"""Folders and their files in SQLite: what was read when, and which memory is which part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import apsw

from recollect.store.folders import ChunkPlace, FileChunk, FileCopy, Folder, StoredFile
from recollect.store.sqlite.connection import Database, as_json_list
from recollect.times import to_micros

FOLDER = (
    "key, path, project, redact, followed, (SELECT count(*) FROM files f "
    "WHERE f.folder = folders.key AND f.reason = '' AND f.gone_at IS NULL)"
)
FILE = "key, path, size, changed, inode, read_at, digest, reason, gone_at IS NOT NULL"
CHUNK = "m.id, c.number, c.heading, c.first_line, c.last_line"
PUT_FOLDER = f"""
INSERT INTO folders (path, project, redact, followed, added_at) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (path) DO UPDATE
   SET project = excluded.project, redact = excluded.redact, followed = excluded.followed
RETURNING {FOLDER}"""
PUT_FILE = """
INSERT INTO files (key, folder, path, size, changed, inode, read_at, digest, reason, gone_at)
VALUES (nullif(?, 0), ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (key) DO UPDATE
   SET path = excluded.path, size = excluded.size, changed = excluded.changed,
       inode = excluded.inode, read_at = excluded.read_at, digest = excluded.digest,
       reason = excluded.reason, gone_at = excluded.gone_at
RETURNING key"""


# The folders come first: their files are found by an index.
FIRST_PARTS = """
SELECT j.value, m.id FROM folders o CROSS JOIN json_each(?) j
 CROSS JOIN files f ON f.folder = o.key AND f.path IN (
     j.value, iif(instr(j.value, o.path || '/') = 1, substr(j.value, length(o.path) + 2), ''))
  JOIN cuts c ON c.file = f.key
  JOIN memories m ON m.key = c.memory AND m.forgotten_at IS NULL
 WHERE f.gone_at IS NULL GROUP BY j.value HAVING c.number = min(c.number)"""
COPIES = """
SELECT f.digest, o.path, f.path, m.id FROM files f JOIN folders o ON o.key = f.folder
  JOIN cuts c ON c.file = f.key AND c.number = 1
  JOIN memories m ON m.key = c.memory AND m.forgotten_at IS NULL
 WHERE f.gone_at IS NULL AND f.digest IN (
     SELECT digest FROM files WHERE gone_at IS NULL AND reason = '' AND digest <> x''
      GROUP BY digest HAVING count(DISTINCT folder) > 1)
 ORDER BY o.path, f.path"""


class SqliteFolders:
    """Reading, and the folders themselves."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def all(self) -> list[Folder]:
        rows = self._database.rows(f"SELECT {FOLDER} FROM folders ORDER BY path")
        return [_folder(row) for row in rows]

    def add(self, path: str, project: str, *, redact: bool, followed: bool, at: datetime) -> Folder:
        values = (path, project, redact, followed, to_micros(at))
        with self._database.writing() as connection:
            [row] = connection.execute(PUT_FOLDER, values).fetchall()
        return _folder(row)

    def files(self, folder: Folder) -> dict[str, StoredFile]:
        rows = self._database.rows(f"SELECT {FILE} FROM files WHERE folder = ?", folder.key)
        files = map(_file, rows)
        return {file.path: file for file in files}

    def places(
        self, ids: Sequence[str], *, unread_since: datetime | None = None
    ) -> dict[str, ChunkPlace]:
        last = None if unread_since is None else to_micros(unread_since) * 1000
        rows = self._database.rows(
            f"SELECT c.file, {CHUNK} FROM json_each(?) j CROSS JOIN memories m ON m.id = j.value "
            "JOIN cuts c ON c.memory = m.key "
            "WHERE ?2 IS NULL OR (SELECT read_at FROM files WHERE key = c.file) <= ?2",
            as_json_list(ids),
            last,
        )
        places = (ChunkPlace(int(file), _chunk(rest)) for file, *rest in rows)  # type: ignore[arg-type]
        return {place.chunk.memory_id: place for place in places}

    def around(self, file: int, number: int, reach: int) -> list[FileChunk]:
        rows = self._database.rows(
            f"SELECT {CHUNK} FROM cuts c JOIN memories m ON m.key = c.memory WHERE c.file = ? "
            "AND c.number BETWEEN ?2 - ?3 AND ?2 + ?3 AND m.forgotten_at IS NULL "
            "ORDER BY c.number, m.id",
            file,
            number,
            reach,
        )
        return [_chunk(row) for row in rows]

    def first_parts(self, paths: Sequence[str]) -> dict[str, str]:
        rows = self._database.rows(FIRST_PARTS, as_json_list(paths))
        return {str(path): str(id) for path, id in rows}

    def copies(self) -> list[list[FileCopy]]:
        """The files that two folders have with the same content, each with all its copies."""
        found: dict[bytes, list[FileCopy]] = {}
        for digest, folder, path, id in self._database.rows(COPIES):
            copy = FileCopy(f"{folder}/{path}", str(id))
            found.setdefault(bytes(digest), []).append(copy)  # type: ignore[arg-type]
        return [copies for copies in found.values() if len(copies) > 1]


class SqliteFileWriting:
    """The part of a write transaction that is about files."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def stored(self, folder: Folder, path: str) -> StoredFile | None:
        sql = f"SELECT {FILE} FROM files WHERE folder = ? AND path = ?"
        row = self._connection.execute(sql, (folder.key, path)).fetchone()
        return None if row is None else _file(row)

    def put(self, folder: Folder, file: StoredFile) -> int:
        gone = file.read_ns // 1000 if file.gone else None
        values = (
            file.key, folder.key, file.path, file.size, file.changed_ns, file.inode, file.read_ns,
            file.digest, file.reason, gone,
        )  # fmt: skip
        [(key,)] = self._connection.execute(PUT_FILE, values).fetchall()
        assert isinstance(key, int)
        return key

    def remove_file(self, folder: Folder, path: str) -> None:
        sql = "DELETE FROM files WHERE folder = ? AND path = ?"
        self._connection.execute(sql, (folder.key, path))

    def chunks(self, file: int, after: int = 0) -> list[FileChunk]:
        rows = self._connection.execute(
            f"SELECT {CHUNK} FROM cuts c JOIN memories m ON m.key = c.memory "
            "WHERE c.file = ? AND c.number > ? ORDER BY c.number, m.id",
            (file, after),
        )
        return [_chunk(row) for row in rows]

    def put_chunks(self, file: int, chunks: Mapping[int, FileChunk], after: int = 0) -> None:
        sql = "DELETE FROM cuts WHERE file = ? AND number > ?"
        self._connection.execute(sql, (file, after))
        self._connection.executemany(
            "INSERT OR REPLACE INTO cuts (memory, file, number, heading, first_line, last_line) "
            "VALUES (?, ?, ?, ?, ?, ?)",
            [(memory, file, *chunk[1:]) for memory, chunk in chunks.items()],
        )

    def memories(self, folder: Folder) -> list[str]:
        rows = self._connection.execute(
            "SELECT m.id FROM files f JOIN cuts c ON c.file = f.key "
            "JOIN memories m ON m.key = c.memory WHERE f.folder = ? AND m.forgotten_at IS NULL",
            (folder.key,),
        )
        return [str(id) for (id,) in rows]

    def remove(self, folder: Folder) -> None:
        self._connection.execute("DELETE FROM folders WHERE key = ?", (folder.key,))


def _folder(row: Sequence[Any]) -> Folder:
    key, path, project, redact, followed, files = row
    return Folder(key, path, project, bool(redact), bool(followed), files)


def _file(row: Sequence[Any]) -> StoredFile:
    key, path, size, changed, inode, read, digest, reason, gone = row
    return StoredFile(key, path, size, changed, inode, read, digest, reason, bool(gone))


def _chunk(row: Sequence[Any]) -> FileChunk:
    return FileChunk(*row)
