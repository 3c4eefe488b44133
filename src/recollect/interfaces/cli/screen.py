"""What a command's text is shown on: a terminal or a pipe, its width, with colour or without."""

from __future__ import annotations

import os
import sys
from contextvars import ContextVar

WIDEST = 120  # longer lines are hard to read
NO_TERMINAL = 100
NO_SIZE = 80  # of a terminal that does not tell: a serial line, some containers
# Terminals that show links, by what they say of themselves in the environment.
LINKING = ("kitty", "alacritty", "foot", "ghostty", "wezterm", "contour")  # in TERM
LINKING_PROGRAMS = ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio")
LINKING_VARIABLES = ("WT_SESSION", "KONSOLE_VERSION", "DOMTERM")
LINKING_VTE = 5000  # GNOME Terminal and others, as VTE_VERSION: 0.50
NO_STYLES, NO_COLOURS, COLOURS = range(3)  # what the text may have; bold is no colour


class Screen:
    """Whether a terminal shows the text and how many cells a line has; which `styles` it may have;
    whether it shows `links`. `session`: the number of the terminal's session, whatever
    goes into pipes; 0 where no terminal is attached."""

    def __init__(
        self, *, terminal: bool, width: int, styles: int, links: bool = False, session: int = 0
    ) -> None:
        self.terminal = terminal
        self.width = width
        self.styles = styles if terminal else NO_STYLES
        self.links = terminal and links
        self.session = session


# Set where the text is made for another process, which prints it.
ELSEWHERE: ContextVar[Screen | None] = ContextVar("screen", default=None)


def screen() -> Screen:
    """The screen of whoever asked: of another process, or else this one's standard output."""
    return ELSEWHERE.get() or own_screen()


def own_screen() -> Screen:
    dumb = os.environ.get("TERM", "dumb" if os.name == "posix" else "") == "dumb"
    styles = NO_STYLES if dumb else NO_COLOURS if os.environ.get("NO_COLOR") else COLOURS
    terminal = sys.stdout.isatty()
    return Screen(
        terminal=terminal,
        width=_width(terminal),
        styles=styles,
        links=terminal and not dumb and _links(),
        session=_session(terminal),
    )


def _links() -> bool:
    """Whether the terminal shows OSC 8 as links. FORCE_HYPERLINK decides, as for other programs."""
    variable = os.environ.get
    if forced := variable("FORCE_HYPERLINK"):
        return forced != "0"
    vte = variable("VTE_VERSION", "")
    return (
        variable("TERM_PROGRAM") in LINKING_PROGRAMS
        or any(name in variable("TERM", "") for name in LINKING)
        or any(map(variable, LINKING_VARIABLES))
        or (vte.isdecimal() and int(vte) >= LINKING_VTE)
    )


def _session(terminal: bool) -> int:
    """A window of its own has a session of its own, also one that has the name of one before it."""
    if not terminal and not any(stream and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        return 0
    return os.getsid(0) if hasattr(os, "getsid") else os.getppid()


def _width(terminal: bool) -> int:
    if not terminal:
        return NO_TERMINAL
    try:
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    if columns <= 0:
        declared = os.environ.get("COLUMNS", "")
        columns = int(declared) if declared.isdecimal() and int(declared) else NO_SIZE
    return min(columns, WIDEST)
