"""Scan a mirrored folder: match files with memories, and find unreadable ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from recollect import UserError
from recollect.plugin.mirrors import (
    LINK,
    MarkdownEntry,
    ParsedFile,
    as_text,
    loose_id,
    parse,
    read_bytes,
    walk,
)
from recollect.plugins.mirror.folder import MirrorEntry, digest_of, same_place

EMPTY = "It is empty; the memory keeps its last version."


class MirrorFile(NamedTuple):
    """A file at the time of the scan; without its text if it has not changed."""

    path: str
    digest: str
    text: str = ""
    parsed: ParsedFile = ParsedFile({})


class MirrorScan(NamedTuple):
    """The result of a scan.

    files: by the id in them.
    notes: files without an id.
    blocked: ids whose files cannot be read now.
    problems: by path.
    taken: every name in use.
    """

    files: Mapping[str, MirrorFile]
    notes: Sequence[MirrorFile]
    blocked: frozenset[str]
    problems: Mapping[str, str]
    taken: frozenset[str]


def scan(root: Path, entries: Mapping[str, MirrorEntry]) -> MirrorScan:
    """Scan every file. UserError if all known files are gone: probably the disk is not mounted."""
    scanner = _Scanner(root, entries)
    walked = list(walk(root))
    for entry in walked:
        if entry.problem:
            scanner.skip(entry)
        elif entry.markdown:
            scanner.read(entry.path)
    if entries and not any(entry.markdown for entry in walked):
        raise UserError(
            f"The folder {root} has no Markdown file any more, though {len(entries):,} were there: "
            "is its disk there? Nothing was changed."
        )
    files, copies = scanner.without_copies()
    return MirrorScan(
        files,
        [*scanner.notes, *copies],
        frozenset(scanner.blocked),
        scanner.problems,
        frozenset(same_place(entry.path) for entry in walked),
    )


class _Scanner:
    def __init__(self, root: Path, entries: Mapping[str, MirrorEntry]) -> None:
        self._root = root
        self._entries = entries
        self._known = {same_place(entry.path): id for id, entry in entries.items()}
        self._by_id: dict[str, list[MirrorFile]] = {}
        self.notes: list[MirrorFile] = []
        self.blocked: set[str] = set()
        self.problems: dict[str, str] = {}

    def skip(self, entry: MarkdownEntry) -> None:
        """Block the memories of an unreadable file or folder. A link is reported only if it is in
        the place of a known file."""
        if not entry.path:
            raise UserError(f"{self._root}: {entry.problem}")
        place = same_place(entry.path)
        known = {
            id
            for path, id in self._known.items()
            if path == place or (entry.folder and path.startswith(place + "/"))
        }
        self.blocked |= known
        if known or entry.problem != LINK:
            self.problems[entry.path] = entry.problem

    def read(self, path: str) -> None:
        known = self._known.get(same_place(path))
        raw = b""
        try:
            raw = read_bytes(self._root, path)
            file = MirrorFile(path, digest_of(raw))
            if known is not None and self._entries[known].digest == file.digest:
                self._add(known, file)
                return
            text = as_text(raw)
            if text.strip("\ufeff \t\r\n"):
                file = with_text(file, text)
                self._add(stated_id(file.parsed) or known, file)
            elif known is not None:  # else it is a new note without any text yet
                raise UserError(EMPTY)
        except UserError as error:
            self.problems[path] = str(error)
            self.blocked |= {loose_id(raw.decode(errors="replace")), known or ""}

    def _add(self, id: str | None, file: MirrorFile) -> None:
        if id is None:
            self.notes.append(file)
        else:
            self._by_id.setdefault(id, []).append(file)

    def without_copies(self) -> tuple[dict[str, MirrorFile], list[MirrorFile]]:
        """Return one file for each id, the one that had it before or else the first; and the
        copies."""
        files: dict[str, MirrorFile] = {}
        copies: list[MirrorFile] = []
        for id, same_id in self._by_id.items():
            before = self._entries[id].path if id in self._entries else ""
            files[id] = _nearest(same_id, before)
            copies += (file for file in same_id if file is not files[id])
        return files, copies


def _nearest(files: Iterable[MirrorFile], path: str) -> MirrorFile:
    """Return the file with exactly this path, else one that differs only in case."""
    place = same_place(path)
    return min(files, key=lambda file: (file.path != path, same_place(file.path) != place))


def with_text(file: MirrorFile, text: str) -> MirrorFile:
    """Return the file with its text, parsed; UserError if it cannot be parsed."""
    parsed = parse(text)
    if parsed.problem:
        raise UserError(parsed.problem)
    return file._replace(text=text, parsed=parsed)


def stated_id(file: ParsedFile) -> str | None:
    """Return the id in the file's front matter."""
    id = file.fields.get("id")
    return id if isinstance(id, str) else None
