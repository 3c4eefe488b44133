"""How things look: colour on a terminal only, plain text in a pipe, JSON for programs."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from recollect.interfaces.cli.pager import show
from recollect.present.visible import visible, visible_json

if TYPE_CHECKING:
    from recollect.engine import Recollect

WIDEST = 120  # longer lines are hard to read
ENDLESS = 1_000_000  # cells: in a pipe, no line is wrapped
NO_SIZE = 80  # of a terminal that does not tell: a serial line, some containers
# Terminals that show links, by what they say of themselves in the environment.
LINKING = ("kitty", "alacritty", "foot", "ghostty", "wezterm", "contour")  # in TERM
LINKING_PROGRAMS = ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio")
LINKING_VARIABLES = ("WT_SESSION", "KONSOLE_VERSION", "DOMTERM")
LINKING_VTE = 5000  # GNOME Terminal and others, as VTE_VERSION: 0.50
NO_STYLES, NO_COLOURS, COLOURS = range(3)  # what the text may have; bold is no colour
BOLD, DIM, GREEN, YELLOW, CYAN = "1", "2", "32", "33", "36"
MARK = "1;33"  # of a match
UNCOLOURED = {BOLD: BOLD, MARK: "4"}  # where there is no colour: a match is underlined
PLAIN = "The vault is locked, but {where} is plain text: whoever can read it can read the memories."


class Screen(NamedTuple):
    """Whether a terminal shows the text and how many cells a line has; which `styles` it may have;
    whether it shows `links`. `session`: the number of the terminal's session, whatever
    goes into pipes; 0 where no terminal is attached."""

    terminal: bool
    width: int
    styles: int
    links: bool = False
    session: int = 0


# Set where the text is made for a part of the screen.
ELSEWHERE: ContextVar[Screen | None] = ContextVar("screen", default=None)


def screen() -> Screen:
    """The screen that the text is made for: standard output, unless a part of it is drawn."""
    return ELSEWHERE.get() or detect_screen()


def detect_screen() -> Screen:
    dumb = os.environ.get("TERM", "dumb" if os.name == "posix" else "") == "dumb"
    terminal = sys.stdout.isatty()
    styles = NO_COLOURS if os.environ.get("NO_COLOR") else COLOURS
    return Screen(
        terminal=terminal,
        width=_width(terminal),
        styles=styles if terminal and not dumb else NO_STYLES,
        links=terminal and not dumb and _shows_links(),
        session=_terminal_session(terminal),
    )


def _shows_links() -> bool:
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


def _terminal_session(terminal: bool) -> int:
    """A window of its own has a session of its own, also one that has the name of one before it."""
    if not terminal and not any(stream and stream.isatty() for stream in (sys.stdin, sys.stderr)):
        return 0
    return os.getsid(0) if hasattr(os, "getsid") else os.getppid()


def _width(terminal: bool) -> int:
    if not terminal:
        return ENDLESS
    try:
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    if columns <= 0:
        declared = os.environ.get("COLUMNS", "")
        columns = int(declared) if declared.isdecimal() and int(declared) else NO_SIZE
    return min(columns, WIDEST)


def json_text(value: Any) -> str:
    """One JSON value, readable, and the same every time."""
    return visible_json(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def rows_text(args: argparse.Namespace, value: Any, rows: str = "") -> str:
    """The JSON of an answer with rows, a list itself or in that field, as the arguments of
    `add_json` want them: in lines, only some of their fields, null where a row has none."""
    found = value[rows] if rows else value
    if args.fields:
        names = [name.strip() for name in args.fields.split(",")]
        found = [{name: row.get(name) for name in names} for row in found]
    if args.json == "lines":
        return "\n".join(visible_json(msgspec.json.encode(row).decode()) for row in found)
    return json_text({**value, rows: found} if rows else found)


def print_rows(args: argparse.Namespace, value: Any, rows: str = "") -> None:
    text = rows_text(args, value, rows)
    print(text, end="\n" if text else "")  # no rows: no line


def print_json(value: Any) -> None:
    print(json_text(value))


def print_note(sentence: str) -> None:
    """Tell who reads standard error, where a program reads the answer; nothing if empty."""
    if sentence:
        print(f"recollect: {sentence}", file=sys.stderr)


def say(as_json: bool, sentence: str, **facts: object) -> None:
    """What was done, as a sentence for people or as facts for programs."""
    if as_json:
        print_json(facts)
    else:
        print(sentence)


def say_counts(as_json: bool, counts: Mapping[str, int], none: str) -> None:
    """How many memories have each value, a line each, or the sentence where there are none."""
    if as_json:
        print_json(counts)
        return
    lines = [f"{n:>6,}  {visible(name) or paint('(none)', DIM)}" for name, n in counts.items()]
    show("\n".join(lines) or none)


def warn_of_plain_text(memory: Recollect, where: str) -> None:
    """Say on stderr that a copy of a locked vault is not locked."""
    if memory.store.database.locked:
        print(f"recollect: {PLAIN.format(where=where)}", file=sys.stderr)


def paint(text: str, style: str) -> str:
    """The text in that style, where there is a terminal that shows it."""
    shown = screen().styles
    if shown != COLOURS:
        style = UNCOLOURED.get(style, "") if shown else ""
    return f"\x1b[{style}m{text}\x1b[0m" if text and style else text


def table_lines(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """The heading and the rows as lines; the first column is left-aligned, the others right."""
    lines = [heading, *rows]
    first, *others = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    for name, *cells in lines:
        aligned = (f"{cell:>{size}}" for cell, size in zip(cells, others, strict=True))
        yield "  ".join((f"{name:<{first}}", *aligned))


@contextmanager
def progress(what: str, total: int | None, *, bytes_read: bool = False) -> Iterator[
    Callable[[int], None]
]:  # fmt: skip
    """A progress bar on a terminal's stderr, with rate and time left; silent elsewhere, and where
    there is nothing to do."""
    if not sys.stderr.isatty() or total == 0:
        yield lambda step: None
        return
    from rich.console import Console  # noqa: PLC0415  start-up time: only for long work
    from rich.progress import (  # noqa: PLC0415  start-up time: only for long work
        BarColumn,
        DownloadColumn,
        MofNCompleteColumn,
        Progress,
        Task,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )
    from rich.text import Text  # noqa: PLC0415  start-up time: only for long work

    class RateColumn(TextColumn):
        """How many a second, from the first on."""

        def __init__(self) -> None:
            super().__init__("")

        def render(self, task: Task) -> Text:
            return Text(f"{task.speed:.0f}/s" if task.speed else "")

    amounts = (
        (DownloadColumn(), TransferSpeedColumn())
        if bytes_read
        else (MofNCompleteColumn(), RateColumn())
    )
    columns = (TextColumn("{task.description}"), BarColumn(), *amounts, TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda step: bar.advance(task, step)
