"""Output: colours and a pager on a terminal, plain text in a pipe, JSON for programs."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from recollect.present.sentences import visible, visible_json

if TYPE_CHECKING:
    import argparse

    from recollect.engine import Recollect

WIDEST = 120  # longer lines are hard to read
ENDLESS = 1_000_000  # cells: in a pipe, no line is wrapped
NO_SIZE = 80  # for a terminal without a size: a serial line, some containers
# Terminals that show links, by their environment variables.
LINKING = ("kitty", "alacritty", "foot", "ghostty", "wezterm", "contour")  # in TERM
LINKING_PROGRAMS = ("iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby", "rio")
LINKING_VARIABLES = ("WT_SESSION", "KONSOLE_VERSION", "DOMTERM")
LINKING_VTE = 5000  # GNOME Terminal and others, as VTE_VERSION: 0.50
NO_STYLES, NO_COLOURS, COLOURS = range(3)  # bold is not a colour
BOLD, DIM, GREEN, YELLOW, CYAN = "1", "2", "32", "33", "36"
MARK = "1;33"  # for a match
UNCOLOURED = {BOLD: BOLD, MARK: "4"}  # without colours, a match is underlined
PLAIN = (
    "The vault is locked, but {where} is plain text: anyone who can read it can read the memories."
)


class Screen(NamedTuple):
    """What standard output can show: whether it is a `terminal`, the `width` of a line in cells,
    the `styles`, and `links`. `session`: the id of the terminal session, even if output is piped; 0
    if no terminal is attached."""

    terminal: bool
    width: int
    styles: int
    links: bool = False
    session: int = 0


# Set while text is made for a part of the screen.
ELSEWHERE: ContextVar[Screen | None] = ContextVar("screen", default=None)


def screen() -> Screen:
    """Return the screen that text is made for: standard output, unless `ELSEWHERE` is set."""
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
    """Return whether the terminal shows OSC 8 links; FORCE_HYPERLINK overrides, as elsewhere."""
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
    """Return the id of the terminal session, which differs for each window; 0 without a
    terminal."""
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
    """Return a value as readable JSON."""
    return visible_json(msgspec.json.format(msgspec.json.encode(value), indent=2).decode())


def rows_text(args: argparse.Namespace, value: Any, rows: str = "") -> str:
    """Return JSON with rows, which are the value itself or its field `rows`, as `--jsonl` and
    `--fields` ask: one a line, only some fields, null for a missing one."""
    found = value[rows] if rows else value
    if args.fields:
        names = [name.strip() for name in args.fields.split(",")]
        found = [{name: row.get(name) for name in names} for row in found]
    if args.json == "lines":
        return "\n".join(visible_json(msgspec.json.encode(row).decode()) for row in found)
    return json_text({**value, rows: found} if rows else found)


def print_rows(args: argparse.Namespace, value: Any, rows: str = "") -> None:
    text = rows_text(args, value, rows)
    print(text, end="\n" if text else "")  # no rows, no line


def print_json(value: Any) -> None:
    print(json_text(value))


def print_note(sentence: str) -> None:
    """Print a sentence on standard error, while a program reads standard output; nothing if
    empty."""
    if sentence:
        print(f"recollect: {sentence}", file=sys.stderr)


def say(as_json: bool, sentence: str, **facts: object) -> None:
    """Print what was done, as a sentence for people or as JSON for programs."""
    if as_json:
        print_json(facts)
    else:
        print(sentence)


def say_counts(as_json: bool, counts: Mapping[str, int], none: str) -> None:
    """Print the number of memories with each value, a line each; `none` if there are no values."""
    if as_json:
        print_json(counts)
        return
    lines = [f"{n:>6,}  {visible(name) or paint('(none)', DIM)}" for name, n in counts.items()]
    show("\n".join(lines) or none)


def warn_of_plain_text(memory: Recollect, where: str) -> None:
    """Warn on stderr that a copy of a locked vault is plain text."""
    if memory.store.database.locked:
        print(f"recollect: {PLAIN.format(where=where)}", file=sys.stderr)


def paint(text: str, style: str) -> str:
    """Return the text in that style, if the terminal shows it."""
    shown = screen().styles
    if shown != COLOURS:
        style = UNCOLOURED.get(style, "") if shown else ""
    return f"\x1b[{style}m{text}\x1b[0m" if text and style else text


def table_lines(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield heading and rows as lines; the first column is left-aligned, the others right."""
    lines = [heading, *rows]
    first, *others = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    for name, *cells in lines:
        aligned = (f"{cell:>{size}}" for cell, size in zip(cells, others, strict=True))
        yield "  ".join((f"{name:<{first}}", *aligned))


@contextmanager
def progress(what: str, total: int | None, *, bytes_read: bool = False) -> Iterator[
    Callable[[int], None]
]:  # fmt: skip
    """Show a progress bar on a terminal's stderr, with rate and time left; nothing elsewhere, or if
    there is nothing to do. Yield a function that advances it."""
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
        """Shows the steps per second."""

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


# The pager

PAGER_VARIABLES = ("RECOLLECT_PAGER", "PAGER")  # the first that is set decides
DEFAULT_PAGER = "less"
# Quit if the text fits after all, pass colours, leave the text on the screen. The user's own
# options come after these.
LESS_OPTIONS = "-FRX"
NO_PAGER = ("", "cat")


def show(text: str) -> None:
    """Print a text with a line end, through the pager if it is longer than the terminal's
    screen."""
    command = _pager_command() if _is_long(text) else ()
    if not command or not _run_pager(command, text):
        print(text)


def _is_long(text: str) -> bool:
    """Return whether a terminal shows the text and has no room for one more line. Escapes count as
    characters: for a text that fits after all, the pager quits."""
    if not (sys.stdout.isatty() and sys.stdin is not None and sys.stdin.isatty()):
        return False
    try:
        columns, rows = os.get_terminal_size(sys.stdout.fileno())
    except (OSError, ValueError):
        return False
    if not rows or not columns or os.environ.get("TERM", "dumb") == "dumb":
        return False
    return sum(1 + len(line) // columns for line in text.splitlines()) >= rows


def _pager_command() -> Sequence[str]:
    """Return the command of the pager; () if none is wanted or installed."""
    if os.environ.get("NO_PAGER"):
        return ()
    import shlex  # noqa: PLC0415  start-up time
    import shutil  # noqa: PLC0415  start-up time

    chosen = next(
        (os.environ[name] for name in PAGER_VARIABLES if name in os.environ), DEFAULT_PAGER
    )
    try:
        command = shlex.split(chosen)
    except ValueError:  # a quote without its end
        return ()
    usable = command and command[0] not in NO_PAGER and shutil.which(command[0])
    return command if usable else ()


def _run_pager(command: Sequence[str], text: str) -> bool:
    """Show the text in the pager and wait until it ends; return False if it cannot be started. Only
    the pager receives Ctrl-C."""
    import signal  # noqa: PLC0415  start-up time
    import subprocess  # noqa: PLC0415  start-up time

    sys.stdout.flush()
    environment = os.environ | {
        "LESS": f"{LESS_OPTIONS} {os.environ.get('LESS', '')}".strip(),
        "LESSCHARSET": os.environ.get("LESSCHARSET", "utf-8"),
    }
    before = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, env=environment)
        process.communicate(f"{text}\n".encode(sys.stdout.encoding, sys.stdout.errors or "strict"))
    except OSError:
        return False
    finally:
        signal.signal(signal.SIGINT, before)
    return True
