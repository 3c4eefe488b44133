"""Keeping a vault and a folder equal: what a run of a mirror did, or would do, and what does it, an
entry point of the group `recollect.mirrors`."""

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
FORM = "markdown"  # of the files: the only one that there is
STATE = ".recollect-mirror.json"  # what a mirror keeps in its folder
Action = Literal[
    "keep",  # nothing to do
    "settle",  # both say the same already; note it
    "write",  # the file anew, from the memory
    "edit",  # the memory, from the file
    "conflict",  # the memory's version stays; the file's is kept beside it
    "forget",  # the memory
    "trash",  # the file
    "take in",  # the file as a memory, new or once forgotten
    "drop",  # the note on both
]


class MirrorStep(NamedTuple):
    """One action on a memory and its file; `note`: what there is to say about it."""

    action: Action
    id: str
    path: str
    note: str = ""


class Mirrored(NamedTuple):
    """The steps of a run; what could not be done and why, by path; and how many memories and files
    were equal already. `redacted`: how many secrets of each kind were replaced in the vault; a file
    keeps what somebody wrote there."""

    folder: Path
    steps: tuple[MirrorStep, ...]
    problems: tuple[tuple[str, str], ...]
    unchanged: int
    redacted: Mapping[str, int]


class MirroredVault(Protocol):
    """The engine, as far as a mirror needs it."""

    def now(self) -> datetime: ...

    def export(self) -> Iterator[Memory]: ...

    def edited(self, id: str, /, *, if_revision: str | None = ..., **changes: Any) -> Saved: ...

    def save_all(self, drafts: Sequence[Draft]) -> list[Saved]: ...

    def forget(
        self, ids: Sequence[str], *, undo: bool = ..., if_revision: str | None = ...
    ) -> None: ...


class MirrorType(Protocol):
    """What an entry point of the group is: a module, or an object, that mirrors a vault."""

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
        """Make a folder and a vault equal, once. `identity` tells vaults apart; `clean` takes
        secrets out of a draft; `private`: only the owner may read what is written."""

    def write_folder(self, folder: Path, memories: Iterable[Memory]) -> int:
        """Write every memory as a file into a new or an empty folder; return how many."""


def installed_mirror() -> MirrorType:
    """Return what mirrors a vault as Markdown files."""
    point = entry_points_of(GROUP).get(FORM)
    if point is None:
        raise UserError("No plugin that writes memories as Markdown files is installed here.")
    return cast(MirrorType, point.load())
