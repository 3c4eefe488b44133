"""Mirrors, which keep a vault and a folder equal: their result, and their protocol as entry points
of the group `recollect.mirrors`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, cast

from recollect.entry_points import entry_points_of
from recollect.errors import UserError

if TYPE_CHECKING:
    from recollect.ingest.draft import Draft
    from recollect.ingest.saving import Saved
    from recollect.types import Memory

GROUP = "recollect.mirrors"
FORM = "markdown"  # the only form of files
STATE = ".recollect-mirror.json"  # a mirror's own file in the folder
Action = Literal[
    "keep",  # nothing to do
    "settle",  # both are equal; record it
    "write",  # write the file from the memory
    "edit",  # edit the memory from the file
    "conflict",  # keep the memory's version, and the file's in another file
    "forget",  # forget the memory
    "trash",  # move the file to the trash
    "take in",  # save the file as a memory, new or forgotten before
    "drop",  # delete the record of both
]


class MirrorStep(NamedTuple):
    """One action on a memory and its file; `note`: for the user."""

    action: Action
    id: str
    path: str
    note: str = ""


class Mirrored(NamedTuple):
    """The steps of a run, its problems by path, and the number of memories and files that were
    already equal. `redacted`: how many secrets of each kind were replaced in the vault; files keep
    them."""

    folder: Path
    steps: tuple[MirrorStep, ...]
    problems: tuple[tuple[str, str], ...]
    unchanged: int
    redacted: Mapping[str, int]


class MirroredVault(Protocol):
    """The part of the engine that a mirror uses."""

    def now(self) -> datetime: ...

    def export(self) -> Iterator[Memory]: ...

    def edit_all(
        self, ids: Sequence[str], /, *, if_revision: str | None = ..., **changes: Any
    ) -> list[Saved]: ...

    def save_all(self, drafts: Sequence[Draft]) -> list[Saved]: ...

    def forget(
        self, ids: Sequence[str], *, undo: bool = ..., if_revision: str | None = ...
    ) -> None: ...


class MirrorType(Protocol):
    """An entry point of the group: a module or an object that mirrors a vault."""

    def mirror(
        self,
        vault: MirroredVault,
        path: Path,
        *,
        identity: str,
        clean: Callable[[Draft], Draft],
        private: bool,
        dry_run: bool,
    ) -> Mirrored:
        """Make a folder and a vault equal, once. `identity`: identifies the vault. `clean`: removes
        secrets from a draft. `private`: only the owner may read the files."""

    def write_folder(self, folder: Path, memories: Iterable[Memory]) -> int:
        """Write every memory as a file into a new or empty folder; return their number."""


def installed_mirror() -> MirrorType:
    """Return the plugin that mirrors a vault as Markdown files."""
    point = entry_points_of(GROUP).get(FORM)
    if point is None:
        raise UserError("No plugin that writes memories as Markdown files is installed here.")
    return cast(MirrorType, point.load())
