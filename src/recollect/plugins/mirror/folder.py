"""A mirrored folder, and its state: how memories and files were when they were last the same.

Whole files are written or none, nothing outside of the folder, and nothing over a change that was
not seen. The state lies in the folder, where anybody may change it, and is checked when it is read.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import msgspec
from msgspec import Struct

from recollect import Memory, UserError
from recollect.plugin.mirrors import (
    ENDING,
    LINK,
    STATE,
    as_markdown,
    bytes_digest,
    read_bytes,
    write_whole,
)
from recollect.plugins.mirror.file_names import free_path, same_place

VERSION = 1
START_OVER = (
    f"Remove {STATE} to start over: no memory and no file is lost, and where the two differ, both "
    "are kept."
)
TRASH = ".trash"  # where Obsidian puts deleted files, if it is set to keep them in the vault
MEANWHILE = "It was changed just now; the next run will take the change."
LINKED = "A folder in its path is a link, and links are not followed."


class MirrorEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """A memory and its file when they were last the same: the file's path, a digest of its bytes,
    the memory's revision. `stamp`: the `updated_at` in the file; the memory's own may be later.
    `kept`: somebody chose the file's name, so it stays."""

    path: str
    digest: str
    revision: str
    stamp: str = ""
    kept: bool = False


class State(Struct, frozen=True, forbid_unknown_fields=True):
    """The entries of a mirrored folder by the memories' ids; `vault`: whose mirror it is."""

    version: int
    vault: str
    entries: dict[str, MirrorEntry] = {}


def state_text(state: State) -> str:
    return msgspec.json.format(msgspec.json.encode(state), indent=1).decode() + "\n"


def read_state(raw: bytes, vault: str) -> State:
    """The state in these bytes; UserError where it belongs to another vault or cannot be read."""
    try:
        version = msgspec.json.decode(raw, type=_Version).version
        if version > VERSION:
            raise UserError(
                f"{STATE} was written by a newer version of Recollect (format {version}; this one "
                f"reads {VERSION}). Update Recollect."
            )
        state = msgspec.json.decode(raw, type=State)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{STATE} cannot be read: {error}. {START_OVER}") from error
    if state.vault != vault:
        raise UserError(
            f"The folder mirrors another vault, as its {STATE} says; name another folder."
        )
    for entry in state.entries.values():
        if not is_inside(entry.path):
            raise UserError(
                f"{STATE} names {entry.path!r}, which cannot be a file of the mirror. {START_OVER}"
            )
    return state


class _Version(Struct):
    version: int


def is_inside(path: str) -> bool:
    """Whether a path names a Markdown file below the folder that is not hidden."""
    if "\0" in path or (os.sep == "\\" and re.search(r"[\\:]", path)):
        return False
    parts = path.split("/")  # an absolute path begins with an empty one
    return path.lower().endswith(ENDING) and all(part and part[0] != "." for part in parts)


def digest_of(raw: bytes) -> str:
    return bytes_digest(raw).hex()


class MirroredFolder:
    """A folder; paths are below it. A file is changed only if it is still as it was found, which
    its digest tells. `private`: whatever is written, only its owner may read."""

    def __init__(self, root: Path, *, private: bool = False) -> None:
        self.root = root
        self._private = private

    def state(self, vault: str) -> State:
        """The state after the last run; an empty one in a new folder."""
        file = self.root / STATE
        if not (file.exists() or file.is_symlink()):
            return State(VERSION, vault)
        try:
            raw = read_bytes(self.root, STATE)
        except UserError as error:
            raise UserError(f"{file}: {error}") from error
        return read_state(raw, vault)

    def keep_state(self, state: State) -> None:
        try:
            write_whole(self.root / STATE, state_text(state))
        except OSError as error:
            raise UserError(f"{self.root / STATE} cannot be written: {error.strerror}.") from error

    def add(self, path: str, text: str) -> str:
        """Write a new file; returns its digest."""
        self._make_way(path)
        self._check_free(path)
        write_whole(self.root / path, text)
        return digest_of(text.encode())

    def replace(self, path: str, digest: str, text: str) -> str:
        """Write another text into a file that has this digest, and keep its permissions unless it
        shall be private; returns its new digest."""
        file = self.root / path
        self._make_way(path)
        self._check_unchanged(path, digest)
        mode = file.stat().st_mode & 0o777
        write_whole(file, text)
        if not self._private:
            file.chmod(mode)
        return digest_of(text.encode())

    def move(self, path: str, digest: str, to: str) -> None:
        if path == to:
            return
        self._check_unchanged(path, digest)
        self._make_way(to)
        self._check_free(to)
        (self.root / path).rename(self.root / to)

    def trash(self, path: str, digest: str) -> None:
        """Move a file to the trash; an older one of that name stays there too."""
        self._check_unchanged(path, digest)
        trash = self.root / TRASH
        if trash.is_symlink():
            raise UserError(f"{TRASH}: {LINK}")
        trash.mkdir(0o700, exist_ok=True)
        name = PurePosixPath(path)
        target, number = trash / name.name, 2
        while target.exists() or target.is_symlink():
            target, number = trash / f"{name.stem} {number}{name.suffix}", number + 1
        (self.root / path).rename(target)

    def _make_way(self, path: str) -> None:
        """Make the folders of a path; a link among them would lead out of the mirror."""
        inner = self.root
        for part in PurePosixPath(path).parts[:-1]:
            inner = inner / part
            if inner.is_symlink():
                raise UserError(LINKED)
            inner.mkdir(0o700, exist_ok=True)

    def _check_free(self, path: str) -> None:
        if (self.root / path).exists() or (self.root / path).is_symlink():
            raise UserError(MEANWHILE)

    def _check_unchanged(self, path: str, digest: str) -> None:
        if digest_of(read_bytes(self.root, path)) != digest:
            raise UserError(MEANWHILE)


def write_folder(folder: Path, memories: Iterable[Memory]) -> int:
    """Write every memory as a file of its own into a new or an empty folder; returns how many. Only
    the owner may read them."""

    def private(path: str, flags: int) -> int:
        return os.open(path, flags, 0o600)

    try:
        folder.mkdir(0o700, parents=True, exist_ok=True)
        if next(folder.iterdir(), None) is not None:
            raise UserError(f"The folder {folder} is not empty; name a new or an empty one.")
        taken: set[str] = set()
        for memory in memories:
            path = free_path(memory, taken)
            taken.add(same_place(path))
            (folder / path).parent.mkdir(0o700, exist_ok=True)
            with open(folder / path, "xb", opener=private) as stream:
                stream.write(as_markdown(memory).encode())
    except (FileExistsError, NotADirectoryError) as error:
        raise UserError(f"{folder} is a file; a folder is needed.") from error
    except OSError as error:
        place = error.filename or folder
        raise UserError(f"{place} cannot be written: {error.strerror}.") from error
    return len(taken)
