"""Folders whose files are memories: what a store keeps of them, and what is asked of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

# Begins what stands in the place of a project for a folder of transcripts, which have one each.
TRANSCRIPTS = "sessions of "


class Folder(NamedTuple):
    """A folder whose files are memories. `followed`: whether its changes are to be followed;
    `files`: the number of its files."""

    key: int
    path: str
    project: str
    redact: bool
    followed: bool
    files: int

    @property
    def client(self) -> str:
        """The coding agent whose transcripts its files are; empty for documents."""
        named = self.project.startswith(TRANSCRIPTS)
        return self.project.removeprefix(TRANSCRIPTS) if named else ""


class StoredFile(NamedTuple):
    """A file of a folder as it was when it was last read. `path` is relative to the folder;
    `changed_ns` and `read_ns` are nanoseconds since 1970; `reason` tells why the file is left out
    (empty: it is not); `gone`: the file was deleted and its memories are forgotten."""

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
    """The part of its file that a memory is: its number, counted from 1, and its lines."""

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


class Folders(Protocol):
    """Folders whose files are memories."""

    def all(self) -> list[Folder]:
        """Every folder, by path."""

    def add(self, path: str, project: str, *, redact: bool, followed: bool, at: datetime) -> Folder:
        """Add the folder at that path, or change its settings."""

    def files(self, folder: Folder) -> dict[str, StoredFile]:
        """The folder's files by path, including those that are gone."""

    def places(self, ids: Sequence[str]) -> dict[str, ChunkPlace]:
        """The chunk of each of these memories that is part of a file."""

    def around(self, file: int, number: int, reach: int) -> list[FileChunk]:
        """The live chunks of a file up to `reach` before and after the one of that number."""

    def first_parts(self, paths: Sequence[str]) -> dict[str, str]:
        """The memory that each of these files begins with; a path is whole, or below a folder."""


class FileWriting(Protocol):
    """The part of a write transaction that is about files."""

    def stored(self, folder: Folder, paths: Sequence[str]) -> dict[str, StoredFile]:
        """The states of the files at these paths as they are now, by path."""

    def put(self, folder: Folder, file: StoredFile) -> int:
        """Write a file's state and return its key; one without a key (0) is added."""

    def remove_file(self, folder: Folder, path: str) -> None:
        """Remove the state of the file that was at that path."""

    def chunks(self, file: int, after: int = 0) -> list[FileChunk]:
        """The memories of a file after its first so many chunks, in order, forgotten ones
        included."""

    def put_chunks(self, file: int, chunks: Mapping[int, FileChunk], after: int = 0) -> None:
        """Replace the file's memories after its first so many chunks: which chunk each is, by the
        memory's key."""

    def memories(self, folder: Folder) -> list[str]:
        """The ids of all live memories of a folder's files."""

    def remove(self, folder: Folder) -> None:
        """Remove the folder and its files; its memories stay."""
