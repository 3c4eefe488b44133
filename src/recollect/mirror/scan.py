"""Looking through a mirrored folder: which file is which memory's, and what cannot be told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from recollect.errors import UserError
from recollect.mirror.file_names import same_place
from recollect.mirror.files import LINK, Seen, as_text, read_bytes, walk
from recollect.mirror.folder import digest_of
from recollect.mirror.memory_markdown import Form, loose_id, parsed
from recollect.mirror.state import Entry

EMPTY = "It is empty; the memory keeps its last version."


class File(NamedTuple):
    """A file as it was found. Of one that has not changed nothing but its digest is held."""

    path: str
    digest: str
    text: str = ""
    form: Form = Form({})


class Looked(NamedTuple):
    """What is in the folder: the files by the ids they claim, those that claim none, ids of whose
    file nothing can be told now, the problems by path, and every name that is taken."""

    files: Mapping[str, File]
    notes: Sequence[File]
    blocked: frozenset[str]
    problems: Mapping[str, str]
    taken: frozenset[str]


def look(root: Path, entries: Mapping[str, Entry]) -> Looked:
    """Look at every file. UserError where there were files and none is left: an empty folder is
    rather a disk that is away than somebody who deleted everything."""
    looking = _Looking(root, entries)
    seen = list(walk(root))
    for one in seen:
        if one.problem:
            looking.cannot_see(one)
        elif one.markdown:
            looking.look_at(one.path)
    if entries and not any(one.markdown for one in seen):
        raise UserError(
            f"The folder {root} has no Markdown file any more, though {len(entries):,} were there: "
            "is its disk there? Nothing was changed."
        )
    files, copies = looking.shared_out()
    return Looked(
        files,
        [*looking.notes, *copies],
        frozenset(looking.blocked),
        looking.problems,
        frozenset(same_place(one.path) for one in seen),
    )


class _Looking:
    def __init__(self, root: Path, entries: Mapping[str, Entry]) -> None:
        self._root = root
        self._entries = entries
        self._known = {same_place(entry.path): id for id, entry in entries.items()}
        self._claims: dict[str, list[File]] = {}
        self.notes: list[File] = []
        self.blocked: set[str] = set()
        self.problems: dict[str, str] = {}

    def cannot_see(self, seen: Seen) -> None:
        """Of what cannot be seen nothing is concluded. A link is named where a file was before."""
        if not seen.path:
            raise UserError(f"{self._root}: {seen.problem}")
        place = same_place(seen.path)
        known = {
            id
            for path, id in self._known.items()
            if path == place or (seen.folder and path.startswith(place + "/"))
        }
        self.blocked |= known
        if known or seen.problem != LINK:
            self.problems[seen.path] = seen.problem

    def look_at(self, path: str) -> None:
        known = self._known.get(same_place(path))
        raw = b""
        try:
            raw = read_bytes(self._root, path)
            file = File(path, digest_of(raw))
            if known is not None and self._entries[known].digest == file.digest:
                self._claim(known, file)
                return
            text = as_text(raw)
            if text.strip("\ufeff \t\r\n"):
                file = with_text(file, text)
                self._claim(claimed(file.form) or known, file)
            elif known is not None:  # else it is a new note in which nothing stands yet
                raise UserError(EMPTY)
        except UserError as error:
            self.problems[path] = str(error)
            self.blocked |= {loose_id(raw.decode(errors="replace")), known or ""}

    def _claim(self, id: str | None, file: File) -> None:
        if id is None:
            self.notes.append(file)
        else:
            self._claims.setdefault(id, []).append(file)

    def shared_out(self) -> tuple[dict[str, File], list[File]]:
        """One file a memory: the one that was it before, else the first. The others are copies."""
        files: dict[str, File] = {}
        copies: list[File] = []
        for id, claiming in self._claims.items():
            was = self._entries[id].path if id in self._entries else ""
            files[id] = _nearest(claiming, was)
            copies += (file for file in claiming if file is not files[id])
        return files, copies


def _nearest(files: Iterable[File], path: str) -> File:
    """Where only case tells two files apart, the one that is called exactly so comes first."""
    place = same_place(path)
    return min(files, key=lambda file: (file.path != path, same_place(file.path) != place))


def with_text(file: File, text: str) -> File:
    """The file with what it says; UserError where that cannot be read."""
    form = parsed(text)
    if form.problem:
        raise UserError(form.problem)
    return file._replace(text=text, form=form)


def claimed(form: Form) -> str | None:
    """The id that the file says it has."""
    id = form.fields.get("id")
    return id if isinstance(id, str) else None
