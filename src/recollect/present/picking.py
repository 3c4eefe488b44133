"""What the command `find` and a picker say to each other; the pickers that are installed are entry
points of the group `recollect.pickers`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol, TextIO

if TYPE_CHECKING:
    from recollect.engine import Recollect
    from recollect.types import Memory, Result, Search

GROUP = "recollect.pickers"


class PickerText(Protocol):
    """What the command shows of a memory."""

    def row(self, memory: Memory, columns: int, now: datetime | None) -> str:
        """Return a memory as one line of a list, as wide as that."""

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
        """Return the lines of a memory, or of why it is there, with the escapes of a terminal."""

    def copy(self, memory: Memory, to_terminal: Callable[[str], object]) -> object:
        """Copy a memory to the clipboard, by a program or by the terminal."""


class Picked(NamedTuple):
    """What a person chose; `line`: the one of its file that matches, 0 where none is known."""

    memory: Memory
    line: int = 0


class PickerType(Protocol):
    """What an entry point of the group is: a function."""

    def __call__(
        self,
        open_vault: Callable[[], Recollect],
        search: Search,
        command: Callable[[list[str]], int],
        terminal: TextIO,
        text: PickerText,
    ) -> Picked | None:
        """Return what somebody chose on this terminal, or None. `command` runs a command of the
        command line."""
