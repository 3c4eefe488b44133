"""The interface between the command `find` and pickers, which are entry points of the group
`recollect.pickers`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol, TextIO

if TYPE_CHECKING:
    from recollect.engine import Recollect
    from recollect.types import Memory, Result, Search

GROUP = "recollect.pickers"


class PickerText(Protocol):
    """The texts with which the command shows a memory."""

    def row(self, memory: Memory, columns: int, now: datetime | None) -> str:
        """Return a memory as one line of a list, `columns` wide."""

    def preview(
        self,
        memory: Memory,
        result: Result | None,
        now: datetime,
        columns: int,
        *,
        colour: bool,
        why: bool,
    ) -> list[str]:
        """Return the lines of a memory, or with `why` of its explanation, with terminal escapes."""

    def copy(self, memory: Memory, to_terminal: Callable[[str], object]) -> object:
        """Copy a memory to the clipboard, by a program or by the terminal."""


class Picked(NamedTuple):
    """The memory that a person chose. `line`: the matching line of its file, or 0."""

    memory: Memory
    line: int = 0


class PickerType(Protocol):
    """A picker: a function that lets a person choose a memory on a terminal."""

    def __call__(
        self,
        open_vault: Callable[[], Recollect],
        search: Search,
        command: Callable[[list[str]], int],
        terminal: TextIO,
        text: PickerText,
    ) -> Picked | None:
        """Return the memory that was chosen on this terminal, or None. `command` runs a recollect
        command."""
