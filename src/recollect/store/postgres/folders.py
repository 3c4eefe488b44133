"""Folders and their files in PostgreSQL: what was read when, and which memory is which part."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from recollect.store.folders import ChunkPlace, FileChunk, FileCopy, Folder, StoredFile
from recollect.store.postgres.database import PostgresDatabase
from recollect.store.postgres.pool import Connection
from recollect.times import to_micros

FOLDER = """
SELECT o.key, o.path, o.project, o.redact, o.followed, (SELECT count(*) FROM files f
        WHERE f.vault = vault() AND f.folder = o.key AND f.reason = '' AND f.gone_at IS NULL)
  FROM folders o WHERE o.vault = vault()"""
FILE = """
SELECT key, path, size, changed, inode, read_at, digest, reason, gone_at IS NOT NULL
  FROM files WHERE vault = vault() AND folder = %s"""
CHUNK = "m.id, c.number, c.heading, c.first_line, c.last_line"
PUT_FOLDER = """
INSERT INTO folders (vault, path, project, redact, followed, added_at)
VALUES (vault(), %s, %s, %s, %s, %s)
    ON CONFLICT (vault, path) DO UPDATE
   SET project = excluded.project, redact = excluded.redact, followed = excluded.followed"""
FILE_COLUMNS = ("path", "size", "changed", "inode", "read_at", "digest", "reason", "gone_at")
ADD_FILE = f"""
INSERT INTO files (vault, folder, {", ".join(FILE_COLUMNS)})
VALUES (vault(), %s{", %s" * len(FILE_COLUMNS)}) RETURNING key"""
CHANGE_FILE = f"""
UPDATE files SET {", ".join(f"{column} = %s" for column in FILE_COLUMNS)}
 WHERE vault = vault() AND key = %s RETURNING key"""
PLACES = f"""
SELECT c.file, {CHUNK} FROM memories m JOIN chunks c ON c.vault = m.vault AND c.memory = m.key
 WHERE m.vault = vault() AND m.id = ANY(%s)"""
UNREAD = """
   AND (SELECT read_at FROM files f WHERE f.vault = vault() AND f.key = c.file) <= %s"""
AROUND = f"""
SELECT {CHUNK} FROM chunks c JOIN memories m ON m.vault = c.vault AND m.key = c.memory
 WHERE c.vault = vault() AND c.file = %s AND c.number BETWEEN %s AND %s AND m.forgotten_at IS NULL
 ORDER BY c.number, m.id"""
FIRST_PARTS = """
SELECT DISTINCT ON (j.path) j.path, m.id FROM unnest(%s::text[]) AS j (path)
  JOIN folders o ON o.vault = vault()
  JOIN files f ON f.vault = o.vault AND f.folder = o.key AND f.gone_at IS NULL
       AND (f.path = j.path OR o.path || '/' || f.path = j.path)
  JOIN chunks c ON c.vault = f.vault AND c.file = f.key
  JOIN memories m ON m.vault = c.vault AND m.key = c.memory AND m.forgotten_at IS NULL
 ORDER BY j.path, c.number, m.id"""
COPIES = """
SELECT f.digest, o.path, f.path, m.id
  FROM files f JOIN folders o ON o.vault = f.vault AND o.key = f.folder
  JOIN chunks c ON c.vault = f.vault AND c.file = f.key AND c.number = 1
  JOIN memories m ON m.vault = c.vault AND m.key = c.memory AND m.forgotten_at IS NULL
 WHERE f.vault = vault() AND f.gone_at IS NULL AND f.digest IN (
     SELECT digest FROM files
      WHERE vault = vault() AND gone_at IS NULL AND reason = '' AND digest <> ''
      GROUP BY digest HAVING count(DISTINCT folder) > 1)
 ORDER BY o.path, f.path"""
CHUNKS = f"""
SELECT {CHUNK} FROM chunks c JOIN memories m ON m.vault = c.vault AND m.key = c.memory
 WHERE c.vault = vault() AND c.file = %s AND c.number > %s ORDER BY c.number, m.id"""
PUT_CHUNK = """
INSERT INTO chunks (vault, memory, file, number, heading, first_line, last_line)
VALUES (vault(), %s, %s, %s, %s, %s, %s)
    ON CONFLICT (vault, memory) DO UPDATE
   SET file = excluded.file, number = excluded.number, heading = excluded.heading,
       first_line = excluded.first_line, last_line = excluded.last_line"""
MEMORIES = """
SELECT m.id FROM files f JOIN chunks c ON c.vault = f.vault AND c.file = f.key
  JOIN memories m ON m.vault = c.vault AND m.key = c.memory
 WHERE f.vault = vault() AND f.folder = %s AND m.forgotten_at IS NULL"""


class PostgresFolders:
    """Reading, and the folders themselves."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def all(self) -> list[Folder]:
        return [Folder(*row) for row in self._database.rows(f"{FOLDER} ORDER BY o.path")]

    def add(self, path: str, project: str, *, redact: bool, followed: bool, at: datetime) -> Folder:
        with self._database.writing() as connection:
            connection.execute(PUT_FOLDER, (path, project, redact, followed, to_micros(at)))
            [row] = connection.execute(f"{FOLDER} AND o.path = %s", (path,)).fetchall()
        return Folder(*row)

    def files(self, folder: Folder) -> dict[str, StoredFile]:
        files = (StoredFile(*row) for row in self._database.rows(FILE, folder.key))
        return {file.path: file for file in files}

    def places(
        self, ids: Sequence[str], *, unread_since: datetime | None = None
    ) -> dict[str, ChunkPlace]:
        sql, values = PLACES, [[*ids]]
        if unread_since is not None:
            sql, values = PLACES + UNREAD, [*values, to_micros(unread_since) * 1000]  # type: ignore[list-item]
        places = (
            ChunkPlace(file, FileChunk(*rest)) for file, *rest in self._database.rows(sql, *values)
        )
        return {place.chunk.memory_id: place for place in places}

    def around(self, file: int, number: int, reach: int) -> list[FileChunk]:
        rows = self._database.rows(AROUND, file, number - reach, number + reach)
        return [FileChunk(*row) for row in rows]

    def first_parts(self, paths: Sequence[str]) -> dict[str, str]:
        return dict(self._database.rows(FIRST_PARTS, [*paths]))

    def copies(self) -> list[list[FileCopy]]:
        found: dict[bytes, list[FileCopy]] = {}
        for digest, folder, path, id in self._database.rows(COPIES):
            found.setdefault(digest, []).append(FileCopy(f"{folder}/{path}", id))
        return [copies for copies in found.values() if len(copies) > 1]


class PostgresFileWriting:
    """The part of a write transaction that is about files. `flush` writes the memories that were
    put off, which chunks refer to."""

    def __init__(self, connection: Connection, flush: Callable[[], None]) -> None:
        self._connection = connection
        self._flush = flush

    def stored(self, folder: Folder, path: str) -> StoredFile | None:
        rows = self._rows(f"{FILE} AND path = %s", folder.key, path)
        return StoredFile(*rows[0]) if rows else None

    def put(self, folder: Folder, file: StoredFile) -> int:
        gone = file.read_ns // 1000 if file.gone else None
        values = (
            file.path, file.size, file.changed_ns, file.inode, file.read_ns, file.digest,
            file.reason, gone,
        )  # fmt: skip
        if file.key:
            self._rows(CHANGE_FILE, *values, file.key)
            return file.key
        [(key,)] = self._rows(ADD_FILE, folder.key, *values)
        return int(key)

    def remove_file(self, folder: Folder, path: str) -> None:
        sql = "DELETE FROM files WHERE vault = vault() AND folder = %s AND path = %s"
        self._connection.execute(sql, (folder.key, path))

    def chunks(self, file: int, after: int = 0) -> list[FileChunk]:
        self._flush()
        return [FileChunk(*row) for row in self._rows(CHUNKS, file, after)]

    def put_chunks(self, file: int, chunks: Mapping[int, FileChunk], after: int = 0) -> None:
        self._flush()
        sql = "DELETE FROM chunks WHERE vault = vault() AND file = %s AND number > %s"
        self._connection.execute(sql, (file, after))
        with self._connection.cursor() as cursor:
            rows = [(memory, file, *chunk[1:]) for memory, chunk in chunks.items()]
            cursor.executemany(PUT_CHUNK, rows)

    def memories(self, folder: Folder) -> list[str]:
        self._flush()
        return [id for (id,) in self._rows(MEMORIES, folder.key)]

    def remove(self, folder: Folder) -> None:
        sql = "DELETE FROM folders WHERE vault = vault() AND key = %s"
        self._connection.execute(sql, (folder.key,))

    def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        return self._connection.execute(sql, values).fetchall()
