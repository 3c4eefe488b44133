"""The first thing that `recollect find` shows: its frame, before anything else is imported.

The library of its screen takes longer to import than people like to wait. What they type meanwhile
is kept by the terminal, unseen, and read as soon as the screen is there.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

PROMPT = "> "
WIDE = 100  # columns from which the preview stands beside the list, and not below it
# What the keys do; the letters are pressed with Ctrl.
KEYS = {
    "Enter": "choose",
    "^O": "open",
    "^E": "edit",
    "^Y": "copy",
    "^T": "pin",
    "^X": "forget",
    "^G": "accept",
    "Tab": "why",
    "^Z": "undo",
    "Esc": "leave",
}
SHOW, HIDE = "\x1b[?1049h\x1b[2J\x1b[H", "\x1b[?1049l"


def key_lines(columns: int) -> list[str]:
    """The keys, in as many lines as they need."""
    lines = [""]
    for key, about in KEYS.items():
        hint = f"{key} {about}"
        if lines[-1] and len(lines[-1]) + 2 + len(hint) > columns:
            lines.append("")
        lines[-1] += f"{'  ' if lines[-1] else ''}{hint}"
    return lines


def terminal_of() -> TextIO | None:
    """The stream that leads to a terminal on which a picker can be drawn and typed into: standard
    output, or standard error where the id goes into a pipe."""
    if os.environ.get("TERM", "").lower() in ("dumb", "unknown") or not _is_terminal(sys.stdin):
        return None
    return next(filter(_is_terminal, (sys.stdout, sys.stderr)), None)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


@contextmanager
def first_frame(terminal: TextIO, words: str) -> Iterator[None]:
    """Show the frame and keep what is typed; at the end the terminal is as it was. Where terminals
    are set up in another way than POSIX has it, the screen itself is the first thing shown."""
    try:
        import termios  # noqa: PLC0415  not on Windows
    except ImportError:
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    silent = [*before[:3], before[3] & ~(termios.ECHO | termios.ICANON), *before[4:]]
    size = os.get_terminal_size(terminal.fileno())
    hints = key_lines(size.columns)
    first = size.lines - len(hints) + 1
    below = "".join(f"\x1b[{first + number};1H{hint}" for number, hint in enumerate(hints))
    try:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, silent)
        terminal.write(f"{SHOW}{below}\x1b[H{PROMPT}{words}")
        terminal.flush()
        yield
    finally:
        terminal.write(HIDE)
        terminal.flush()
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
