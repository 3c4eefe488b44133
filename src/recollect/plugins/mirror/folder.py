"""A mirrored folder, its file names, and its state: memories and files when they were last equal.

Files are written whole or not at all, never outside of the folder, and never over an unseen change.
The state is a file in the folder; since anyone may edit it, it is checked when it is read. File
names are readable and work on Linux, macOS, Windows and in Obsidian.
"""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import islice
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
    content_digest,
    read_bytes,
    write_whole,
)

# Enough for a title, and short enough that folder and name fit into Windows' 260 characters.
LONGEST_NAME = 100
# File systems take 255 bytes; this leaves room for a suffix, the ending, and a temporary name.
MOST_BYTES = 180
# Windows refuses the first ones; with the others Obsidian cannot link to the file.
FORBIDDEN = re.compile(r'[<>:"/\\|?*#^\[\]]')
# Categories of Unicode: control, surrogate, unassigned, private use, line and paragraph ends.
UNSEEN = frozenset(("Cc", "Cs", "Cn", "Co", "Zl", "Zp"))
# Characters that change the reading direction, and the byte order mark.
TURNING = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
RESERVED = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])", re.IGNORECASE)
TAIL = 6


def safe_name(text: str) -> str:
    """Return the text as the name of a file or folder, without an ending; it may be empty."""
    line = unicodedata.normalize("NFC", text[: LONGEST_NAME * 4])
    line = FORBIDDEN.sub(" ", TURNING.sub("", line))
    line = "".join(" " if unicodedata.category(char) in UNSEEN else char for char in line)
    name = _shorten(" ".join(line.split()).lstrip(". ")).rstrip(". ")
    reserved = RESERVED.fullmatch(name.partition(".")[0].rstrip())
    return f"_{name}" if reserved else name


def _shorten(name: str) -> str:
    """Cut the name to LONGEST_NAME, at a word if that leaves most of it."""
    short = name[:LONGEST_NAME].encode()[:MOST_BYTES].decode(errors="ignore")
    if short == name:
        return name
    whole = short.rpartition(" ")[0]
    return whole if len(whole) > len(short) // 2 else short


def same_place(path: str) -> str:
    """Return a key for comparing paths: some systems ignore case and the composition of accents."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())


def paths(memory: Memory) -> Iterator[str]:
    """Yield endless paths for the memory's file, best first: its project's folder and its title,
    then with the end of its id, then with a hash and a number."""
    folder = safe_name(memory.project)
    name = safe_name(memory.title) or safe_name(memory.text[:LONGEST_NAME]) or safe_name(memory.id)
    start = f"{folder}/{name or 'memory'}" if folder else name or "memory"
    yield start + ENDING
    tail = safe_name(memory.id[-TAIL:].lstrip("-"))
    if tail:
        yield f"{start} ({tail}){ENDING}"
    digest = content_digest(memory.id, 6).hex()
    yield f"{start} ({digest}){ENDING}"
    number = 2
    while True:
        yield f"{start} ({digest} {number}){ENDING}"
        number += 1


def free_path(memory: Memory, taken: set[str]) -> str:
    """Return the best free path; `taken` has the `same_place` of the others."""
    return next(path for path in paths(memory) if same_place(path) not in taken)


def is_ours(path: str, memory: Memory) -> bool:
    """Return True if the file has a name that we would choose."""
    return same_place(path) in map(same_place, islice(paths(memory), 4))


VERSION = 1
START_OVER = (
    f"Remove {STATE} to start over: no memory and no file is lost, and where the two differ, both "
    "are kept."
)
TRASH = ".trash"  # Obsidian's folder for deleted files, if it is set to keep them in the vault
MEANWHILE = "It was changed just now; the next run will take the change."
LINKED = "A folder in its path is a link, and links are not followed."


class MirrorEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """A memory and its file when they were last equal: the file's path, a digest of its bytes, the
    memory's revision.

    stamp: the `updated_at` in the file; the memory's own may be later.
    kept: the user chose the file's name, so it stays.
    """

    path: str
    digest: str
    revision: str
    stamp: str = ""
    kept: bool = False


class State(Struct, frozen=True, forbid_unknown_fields=True):
    """The entries of a mirrored folder by the memories' ids; `vault` identifies the vault."""

    version: int
    vault: str
    entries: dict[str, MirrorEntry] = {}


def state_text(state: State) -> str:
    return msgspec.json.format(msgspec.json.encode(state), indent=1).decode() + "\n"


def read_state(raw: bytes, vault: str) -> State:
    """Read the state; UserError if it is another vault's or cannot be read."""
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
    """Return True if a path names a Markdown file below the folder that is not hidden."""
    if "\0" in path or (os.sep == "\\" and re.search(r"[\\:]", path)):
        return False
    parts = path.split("/")  # an absolute path begins with an empty one
    return path.lower().endswith(ENDING) and all(part and part[0] != "." for part in parts)


def digest_of(raw: bytes) -> str:
    return bytes_digest(raw).hex()


class MirroredFolder:
    """A folder; paths are relative to it. A file is changed only if its digest is still the same.
    `private`: only the owner may read written files."""

    def __init__(self, root: Path, *, private: bool = False) -> None:
        self.root = root
        self._private = private

    def state(self, vault: str) -> State:
        """Return the state after the last run; an empty one for a new folder."""
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
        """Write a new file; return its digest."""
        self._make_way(path)
        self._check_free(path)
        write_whole(self.root / path, text)
        return digest_of(text.encode())

    def replace(self, path: str, digest: str, text: str) -> str:
        """Replace the text of a file with this digest; keep its permissions unless it is private.
        Return the new digest."""
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
        """Move a file to the trash; an older one of that name stays."""
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
        """Make the folders of a path; refuse links, which would lead out of the mirror."""
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
    """Write a file for every memory into a new or an empty folder; return their number. Only the
    owner may read them."""

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
