"""What a command's text is shown on: a terminal or a pipe, its width, with colour or without."""

from __future__ import annotations

import os
import sys
from contextvars import ContextVar

WIDEST = 120  # longer lines are hard to read
NO_TERMINAL = 100


class Screen:
    """Whether a terminal shows the text and how many characters fit in a line; without colour
    where `plain`. `session`: the number of the terminal's session, whatever goes into pipes; 0
    where no terminal is attached."""

    def __init__(self, *, terminal: bool, width: int, plain: bool, session: int = 0) -> None:
        self.terminal = terminal
        self.width = width
        self.coloured = terminal and not plain
        self.session = session


# Set where the text is made for another process, which prints it.
ELSEWHERE: ContextVar[Screen | None] = ContextVar("screen", default=None)


def screen() -> Screen:
    """The screen of whoever asked: of another process, or else this one's standard output."""
    return ELSEWHERE.get() or own_screen()


def own_screen() -> Screen:
    plain = bool(os.environ.get("NO_COLOR"))
    terminal = sys.stdout.isatty()
    return Screen(terminal=terminal, width=_width(), plain=plain, session=_session(terminal))


def _session(terminal: bool) -> int:
    """A window of its own has a session of its own, also one that has the name of one before it."""
    if not terminal and not any(stream and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        return 0
    return os.getsid(0) if hasattr(os, "getsid") else os.getppid()


def _width() -> int:
    try:
        return min(os.get_terminal_size(sys.stdout.fileno()).columns, WIDEST)
    except (OSError, ValueError):  # not a terminal, or stdout is not a file
        return NO_TERMINAL
