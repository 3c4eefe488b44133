"""Where the files of a mirror belong: their paths, and the project of each folder."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from functools import cached_property
from pathlib import PurePosixPath

from recollect.mirror.file_names import (
    ENDING,
    folder_of,
    free_path,
    is_ours,
    safe_name,
    same_place,
)
from recollect.mirror.scan import MirrorFile
from recollect.mirror.state import MirrorEntry
from recollect.types import Memory

CONFLICT = "conflict"


class Placement:
    """Paths for files, none of which is taken twice. `before`: the entries of the last run."""

    def __init__(
        self,
        before: Mapping[str, MirrorEntry],
        taken: Iterable[str],
        memories: Collection[Memory],
    ) -> None:
        self._before = before
        self._taken = set(taken)
        self._memories = memories

    def path_of(self, memory: Memory, file: MirrorFile | None) -> tuple[str, str]:
        """The path for the memory's file, and the path that it had if that was another one."""
        before = self._before.get(memory.id)
        now = file.path if file else before.path if before else ""
        free = file is not None or same_place(now) not in self._taken
        if now and free and (self.is_chosen(memory, now) or is_ours(now, memory)):
            return now, ""
        path = free_path(memory, self._taken)
        self._taken.add(same_place(path))
        return path, now if file else ""

    def is_chosen(self, memory: Memory, path: str) -> bool:
        """Whether somebody chose that name: known before, or renamed since to none of ours."""
        before = self._before.get(memory.id)
        if before is None:
            return False
        moved = same_place(before.path) != same_place(path)
        return before.kept or (moved and not is_ours(path, memory))

    def beside(self, path: str, now: datetime) -> str:
        """A free path beside the file's, with the time."""
        pure = PurePosixPath(path)
        start = f"{safe_name(pure.stem) or CONFLICT} ({CONFLICT} {now:%Y-%m-%d %H.%M}"
        number, found = 2, str(pure.with_name(f"{start}){ENDING}"))
        while same_place(found) in self._taken:
            found, number = str(pure.with_name(f"{start}, {number}){ENDING}")), number + 1
        self._taken.add(same_place(found))
        return found

    def project_of(self, path: str) -> str:
        """The project in whose folder a file lies; empty where no project has that name."""
        top, _, rest = path.partition("/")
        return self._projects.get(same_place(top), "") if rest else ""

    @cached_property
    def _projects(self) -> dict[str, str]:
        """Each project by its folder."""
        projects = dict.fromkeys(memory.project for memory in self._memories)
        return {same_place(folder_of(name)): name for name in projects if folder_of(name)}
