"""Lines on the screen: as wide as it is, with matches marked and links to files."""

from __future__ import annotations

import os

from recollect.interfaces.cli.layout import MarkedText, cut, wrapped
from recollect.interfaces.cli.output import MARK, styled
from recollect.interfaces.cli.screen import screen
from recollect.present.visible import visible


def marked(line: MarkedText, style: str = "") -> str:
    """A line with its matches in colour, or underlined without any; the rest in that style."""
    found, done = "", 0
    for start, end in line.matches:
        found += _plain(line.text[done:start], style) + styled(line.text[start:end], MARK)
        done = end
    return found + _plain(line.text[done:], style)


def _plain(text: str, style: str) -> str:
    return styled(text, style) if style else text


def linked(text: str, file: str) -> str:
    """The text as a link to a file, where the terminal shows links (OSC 8)."""
    if not screen().links or not os.path.isabs(file):  # noqa: PTH117  start-up time
        return text
    from socket import gethostname  # noqa: PLC0415  start-up time: rarely needed
    from urllib.parse import quote  # noqa: PLC0415  as above

    return f"\x1b]8;;file://{gethostname()}{quote(file)}\x1b\\{text}\x1b]8;;\x1b\\"


def width() -> int:
    """How many cells a line has."""
    return screen().width


def shortened(text: str, room: int) -> str:
    """One line of at most that many cells."""
    return cut(" ".join(visible(text).split()), room)


def flowing(text: str, style: str, indent: int = 2) -> str:
    """A sentence in that style, in lines that fit a terminal, all but the first indented; in a pipe
    it is one line."""
    lines = wrapped(text, width() - indent) if screen().terminal else [text]
    return ("\n" + " " * indent).join(styled(line, style) for line in lines)
