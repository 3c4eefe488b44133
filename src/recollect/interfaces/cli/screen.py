"""What a command's text is shown on: a terminal or a pipe, its width, with colour or without."""

from __future__ import annotations

import os
import sys
from contextvars import ContextVar

WIDEST = 120  # longer lines are hard to read
NO_TERMINAL = 100


class Screen:
    """Whether a terminal shows the text and how many characters fit in a line; without colour
    where `plain`."""

    def __init__(self, *, terminal: bool, width: int, plain: bool) -> None:
        self.terminal = terminal
        self.width = width
        self.coloured = terminal and not plain


# Set where the text is made for another process, which prints it.
ELSEWHERE: ContextVar[Screen | None] = ContextVar("screen", default=None)


def screen() -> Screen:
    """The screen of whoever asked: of another process, or else this one's standard output."""
    return ELSEWHERE.get() or own_screen()


def own_screen() -> Screen:
    plain = bool(os.environ.get("NO_COLOR"))
    return Screen(terminal=sys.stdout.isatty(), width=_width(), plain=plain)


def _width() -> int:
    try:
        return min(os.get_terminal_size(sys.stdout.fileno()).columns, WIDEST)
    except (OSError, ValueError):  # not a terminal, or stdout is not a file
        return NO_TERMINAL
