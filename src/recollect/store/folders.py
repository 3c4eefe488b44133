"""Folders whose files are memories, as a store keeps them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from recollect.store.vault import SqlDatabase
from recollect.times import to_micros

# Prefix of the `project` of a folder of transcripts; each transcript has its own project.
TRANSCRIPTS = "sessions of "
FOLDER = """
SELECT o.key, o.path, o.project, o.redact, o.followed, (SELECT count(*) FROM files f
        WHERE {f.vault} AND f.folder = o.key AND f.reason = '' AND f.gone_at IS NULL)
  FROM folders o WHERE {o.vault}"""
FILE = """
SELECT key, path, size, changed, inode, read_at, digest, reason, gone_at IS NOT NULL
  FROM files WHERE {vault} AND folder = ?"""
CHUNK = "m.id, c.number, c.heading, c.first_line, c.last_line"
PUT_FOLDER = """
INSERT INTO folders ({key}path, project, redact, followed, added_at)
VALUES ({own}?, ?, ?, ?, ?)
    ON CONFLICT ({key}path) DO UPDATE
   SET project = excluded.project, redact = excluded.redact, followed = excluded.followed"""
FILE_COLUMNS = ("path", "size", "changed", "inode", "read_at", "digest", "reason", "gone_at")
ADD_FILE = f"""
INSERT INTO files ({{key}}folder, {", ".join(FILE_COLUMNS)})
VALUES ({{own}}?{", ?" * len(FILE_COLUMNS)}) RETURNING key"""
CHANGE_FILE = f"""
UPDATE files SET {", ".join(f"{column} = ?" for column in FILE_COLUMNS)}
 WHERE {{vault}} AND key = ?"""
PLACES = f"""
SELECT c.file, {CHUNK} FROM memories m JOIN {{chunks}} c ON {{c.vault}} AND c.memory = m.key
 WHERE {{m.vault}} AND m.id {{among}}"""
OF_FILE = f"""
SELECT {CHUNK} FROM {{chunks}} c JOIN memories m ON {{m.vault}} AND m.key = c.memory
 WHERE {{c.vault}} AND c.file = ?"""
AROUND = " AND c.number BETWEEN ? AND ? AND m.forgotten_at IS NULL"
IN_ORDER = " ORDER BY c.number, m.id"
COPIES = """
SELECT f.digest, o.path, f.path, m.id
  FROM files f JOIN folders o ON {o.vault} AND o.key = f.folder
  JOIN {chunks} c ON {c.vault} AND c.file = f.key AND c.number = 1
  JOIN memories m ON {m.vault} AND m.key = c.memory AND m.forgotten_at IS NULL
 WHERE {f.vault} AND f.gone_at IS NULL AND f.digest IN (
     SELECT digest FROM files
      WHERE {vault} AND gone_at IS NULL AND reason = '' AND length(digest) > 0
      GROUP BY digest HAVING count(DISTINCT folder) > 1)
 ORDER BY o.path, f.path"""
REMOVE_CHUNKS = "DELETE FROM {chunks} WHERE {vault} AND file = ? AND number > ?"
PUT_CHUNK = """
INSERT INTO {chunks} ({key}memory, file, number, heading, first_line, last_line)
VALUES ({own}?, ?, ?, ?, ?, ?)
    ON CONFLICT ({key}memory) DO UPDATE
   SET file = excluded.file, number = excluded.number, heading = excluded.heading,
       first_line = excluded.first_line, last_line = excluded.last_line"""
MEMORIES = """
SELECT m.id FROM files f JOIN {chunks} c ON {c.vault} AND c.file = f.key
  JOIN memories m ON {m.vault} AND m.key = c.memory
 WHERE {f.vault} AND f.folder = ? AND m.forgotten_at IS NULL"""


class Folder(NamedTuple):
    """A folder whose files are memories; `followed` if its changes are; `files` is their number."""

    key: int
    path: str
    project: str
    redact: bool
    followed: bool
    files: int

    @property
    def client(self) -> str:
        """The coding agent whose transcripts the files are; empty for documents."""
        named = self.project.startswith(TRANSCRIPTS)
        return self.project.removeprefix(TRANSCRIPTS) if named else ""


class StoredFile(NamedTuple):
    """A file of a folder when it was last read. `path` is relative to the folder; `changed_ns` and
    `read_ns` are nanoseconds since 1970; `reason` says why the file is left out (empty: it is not);
    `gone`: the file was deleted and its memories are forgotten."""

    key: int
    path: str
    size: int
    changed_ns: int
    inode: int
    read_ns: int
    digest: bytes
    reason: str
    gone: bool


class FileChunk(NamedTuple):
    """The part of a file that a memory holds: its number, counted from 1, and its lines."""

    memory_id: str
    number: int
    heading: str
    first_line: int
    last_line: int


class ChunkPlace(NamedTuple):
    """A chunk and the key of its file."""

    file: int
    chunk: FileChunk


class FileCopy(NamedTuple):
    """A file whose content is also in another folder, and the memory of its first part."""

    path: str
    memory_id: str


class StoredFolders:
    """The folders of a vault and their files. `first_parts`: the statement of the method."""

    def __init__(self, database: SqlDatabase, first_parts: str) -> None:
        self._database, self._sql = database, database.sql
        self._first_parts = first_parts

    def all(self) -> list[Folder]:
        """Return every folder, by path."""
        return [*map(_folder, self._database.rows(self._sql(f"{FOLDER} ORDER BY o.path")))]

    def add(self, path: str, project: str, *, redact: bool, followed: bool, at: datetime) -> Folder:
        """Add the folder at that path, or change its settings."""
        with self._database.writing() as connection:
            values = (path, project, redact, followed, to_micros(at))
            connection.execute(self._sql(PUT_FOLDER), values)
            sql = self._sql(f"{FOLDER} AND o.path = ?")
            [row] = connection.execute(sql, (path,)).fetchall()
        return _folder(row)

    def files(self, folder: Folder) -> dict[str, StoredFile]:
        """Return the folder's files by path, including those that are gone."""
        files = map(_file, self._database.rows(self._sql(FILE), folder.key))
        return {file.path: file for file in files}

    def places(self, ids: Sequence[str]) -> dict[str, ChunkPlace]:
        """Return the chunk of each of these memories that is part of a file."""
        rows = self._database.rows(self._sql(PLACES), self._database.among(ids))
        places = (ChunkPlace(file, FileChunk(*rest)) for file, *rest in rows)
        return {place.chunk.memory_id: place for place in places}

    def chunks_around(self, file: int, number: int, reach: int) -> list[FileChunk]:
        """Return the live chunks of a file up to `reach` before and after chunk `number`."""
        sql = self._sql(OF_FILE + AROUND + IN_ORDER)
        rows = self._database.rows(sql, file, number - reach, number + reach)
        return [FileChunk(*row) for row in rows]

    def first_parts(self, paths: Sequence[str]) -> dict[str, str]:
        """Return the first memory of each file, given by absolute or relative path."""
        return dict(self._database.rows(self._first_parts, self._database.among(paths)))

    def copies(self) -> list[list[FileCopy]]:
        """Return the files with equal content in two folders, each with all its copies."""
        found: dict[bytes, list[FileCopy]] = {}
        for digest, folder, path, id in self._database.rows(self._sql(COPIES)):
            found.setdefault(digest, []).append(FileCopy(f"{folder}/{path}", id))
        return [copies for copies in found.values() if len(copies) > 1]


class StoredFiles:
    """The files in a write transaction. `flush` writes delayed memories, to which chunks refer."""

    def __init__(
        self,
        connection: Any,
        sql: Callable[[str], str],
        among: Callable[[Sequence[str]], Any],
        flush: Callable[[], None] = lambda: None,
    ) -> None:
        self._connection, self._sql, self._among, self._flush = connection, sql, among, flush

    def read_files(self, folder: Folder, paths: Sequence[str]) -> dict[str, StoredFile]:
        """Return the current states of the files at these paths, by path."""
        rows = self._rows(f"{FILE} AND path {{among}}", folder.key, self._among(paths))
        return {file.path: file for file in map(_file, rows)}

    def put(self, folder: Folder, file: StoredFile) -> int:
        """Write a file's state and return its key; a file with key 0 is added."""
        gone = file.read_ns // 1000 if file.gone else None
        values = (
            file.path, file.size, file.changed_ns, file.inode, file.read_ns, file.digest,
            file.reason, gone,
        )  # fmt: skip
        if file.key:
            self._change(CHANGE_FILE, *values, file.key)
            return file.key
        [(key,)] = self._rows(ADD_FILE, folder.key, *values)
        return int(key)

    def remove_file(self, folder: Folder, path: str) -> None:
        """Remove the state of the file at that path."""
        sql = "DELETE FROM files WHERE {vault} AND folder = ? AND path = ?"
        self._change(sql, folder.key, path)

    def chunks(self, file: int, after: int = 0) -> list[FileChunk]:
        """Return a file's memories with a chunk above `after`, in order, with forgotten ones."""
        self._flush()
        sql = f"{OF_FILE} AND c.number > ?{IN_ORDER}"
        return [FileChunk(*row) for row in self._rows(sql, file, after)]

    def put_chunks(self, file: int, chunks: Mapping[int, FileChunk], after: int = 0) -> None:
        """Replace the file's chunks above `after` by these, given by their memories' keys."""
        self._flush()
        self._change(REMOVE_CHUNKS, file, after)
        rows = [(memory, file, *chunk[1:]) for memory, chunk in chunks.items()]
        self._connection.cursor().executemany(self._sql(PUT_CHUNK), rows)

    def memories(self, folder: Folder) -> list[str]:
        """Return the ids of all live memories of a folder's files."""
        self._flush()
        return [id for (id,) in self._rows(MEMORIES, folder.key)]

    def remove(self, folder: Folder) -> None:
        """Remove the folder and its files; its memories stay."""
        self._change("DELETE FROM folders WHERE {vault} AND key = ?", folder.key)

    def _change(self, sql: str, *values: object) -> None:
        self._connection.execute(self._sql(sql), values)

    def _rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        found: list[tuple[Any, ...]] = self._connection.execute(self._sql(sql), values).fetchall()
        return found


def _folder(row: Sequence[Any]) -> Folder:
    key, path, project, redact, followed, files = row
    return Folder(key, path, project, bool(redact), bool(followed), files)


def _file(row: Sequence[Any]) -> StoredFile:
    *state, gone = row
    return StoredFile(*state, bool(gone))  # type: ignore[call-arg]
