"""`recollect find`: find a memory while typing."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TextIO, cast

from msgspec.structs import replace

from recollect.engine import Recollect
from recollect.entry_points import entry_points_of
from recollect.errors import UserError
from recollect.interfaces.cli import arguments as arg
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.desktop import copy_text, memory_text
from recollect.interfaces.cli.layout import MarkedText, count_cells, lay_out, shorten, wrap_text
from recollect.interfaces.cli.main import main
from recollect.interfaces.cli.output import (
    BOLD,
    COLOURS,
    CYAN,
    DIM,
    ELSEWHERE,
    MARK,
    NO_COLOURS,
    Screen,
    paint,
)
from recollect.interfaces.cli.results import INDENT, about_line, passage_lines, reason_lines
from recollect.interfaces.cli.selection import open_vault
from recollect.present import sentences
from recollect.present.picking import GROUP, PickerType
from recollect.present.sentences import age, heading_line, place_in_file, visible
from recollect.present.snippet import join_lines
from recollect.query.terms import WORD
from recollect.settings import UsageSettings
from recollect.settings_reading import home_folder, load_settings
from recollect.types import Memory, Result, Search

OPEN = b"SQLite format 3\0"  # how a vault begins that is not locked
DEFAULT = 20
LEFT = 130  # exit code if nothing was chosen, so that a script that needs an id stops
NEEDS = (
    "`recollect find` needs a terminal that can be drawn on and typed into. Use `recollect search "
    "WORDS`, with --ids for ids alone."
)
AGES_FROM = 48  # columns from which a list shows ages
TAB = 4
NEAR = 400  # characters of a text that are visible without scrolling
SAME = 60  # characters of a passage that are looked for in the visible text
PASSAGE = 4  # lines
FIELDS = ("context", "why", "impact", "details")


@command(
    "  recollect find\n  recollect find tokens --project harbor-api\n"
    "  recollect show $(recollect find)",
    arg.words("query", "the words to start with", default=""),
    arg.argument("--recipe", "NAME", "the ranking to use; see `recollect recipes`"),
    arg.limit(DEFAULT),
    arg.add_filter,
)
def find(args: argparse.Namespace) -> int:
    terminal = find_terminal()
    if terminal is None:
        raise UserError(NEEDS)
    picker = _installed_picker()
    home = home_folder(os.environ)
    settings = load_settings(home)
    now = datetime.now(UTC)
    search = Search(
        query=args.query,
        recipe=args.recipe,
        limit=DEFAULT if args.limit is None else args.limit,
        filter=arg.read_filter(args, now),
        mark=True,
    )

    def open_uncounted() -> Recollect:
        # Half-typed queries must not count as searches.
        return open_vault(settings=replace(settings, usage=UsageSettings(keep=False)))

    # A locked vault asks for its passphrase, so it is opened before the screen is drawn.
    vault = home / "vault.db"
    locked = vault.is_file() and vault.open("rb").read(len(OPEN)) != OPEN
    opened = open_uncounted() if locked else None
    chosen = picker(lambda: opened or open_uncounted(), search, main, terminal, TerminalText())
    if chosen is None:
        return LEFT
    memory, line = chosen
    if sys.stdout.isatty() and memory.tier == "file" and Path(memory.path).is_file():
        return main(["open", f"--line={line}", "--", memory.id])
    print(visible(memory.id) if sys.stdout.isatty() else memory.id)
    return 0


def _installed_picker() -> PickerType:
    """Return the first installed picker, by name; raise UserError if there is none."""
    for point in entry_points_of(GROUP).values():
        return cast(PickerType, point.load())
    raise UserError("No picker is installed here. Use `recollect search WORDS`.")


def find_terminal() -> TextIO | None:
    """Return the terminal to draw a picker on: standard output, or standard error if the id goes
    into a pipe; None without a usable terminal."""
    if os.environ.get("TERM", "").lower() in ("dumb", "unknown") or not _is_terminal(sys.stdin):
        return None
    return next(filter(_is_terminal, (sys.stdout, sys.stderr)), None)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


class TerminalText:
    """Formats memories for a picker, as lines that fit (see `PickerText`)."""

    def row(self, memory: Memory, columns: int, now: datetime | None) -> str:
        """Return a memory as one line of a list: its title, and its age if there is room."""
        old = age(memory.updated_at, now) if now and columns >= AGES_FROM else ""
        pinned = "* " if memory.tier == "core" else ""
        title = shorten(f"{pinned}{heading_line(memory)}", columns - len(old) - 1)
        return f"{title}{' ' * (columns - len(old) - count_cells(title))}{old}"

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
        """Return a memory as lines with terminal escapes, or if `why`, the reasons for its
        score."""
        # Result lines are indented, so the screen is wider by the indent.
        width = columns + len(INDENT)
        shown = ELSEWHERE.set(
            Screen(terminal=True, width=width, styles=COLOURS if colour else NO_COLOURS)
        )
        try:
            whole = _reason_lines(result) if why else _preview_lines(memory, result, now, columns)
            heading = (paint(line, BOLD) for line in wrap_text(heading_line(memory), columns))
            return [*heading, *whole]
        finally:
            ELSEWHERE.reset(shown)

    def copy(self, memory: Memory, to_terminal: Callable[[str], object]) -> object:
        """Copy a memory to the clipboard, by a program or by the terminal."""
        return copy_text(memory_text(memory), to_terminal)


def _reason_lines(result: Result | None) -> Iterator[str]:
    yield ""
    if result is None:
        yield "This is a list, not a search: type some words."
    else:
        yield from (line.removeprefix(INDENT) for line in reason_lines(result.explain))


def _preview_lines(
    memory: Memory, result: Result | None, now: datetime, columns: int
) -> Iterator[str]:
    yield paint(about_line(memory, now, partial(age, now=now)), DIM)
    words: set[str] = set()
    if result is not None:
        notes = [place_in_file(result.file)] if result.file else []
        for each in (*notes, *sentences.others(result)):
            yield paint(shorten(each, columns), DIM)
        passage = MarkedText.of(result.marked)
        words = {passage.text[start:end].casefold() for start, end in passage.matches}
        if join_lines(passage.text[:SAME]).strip("… ") not in join_lines(memory.text[:NEAR]):
            yield from ("", *passage_lines(passage, PASSAGE))
    yield from ("", *_mark_words(memory.text, words, columns))
    for name in FIELDS:
        if value := getattr(memory, name):
            yield from ("", paint(name, CYAN), *_mark_words(value, words, columns))


def _mark_words(text: str, words: set[str], columns: int) -> Iterator[str]:
    """Yield the lines of the text, with these words marked."""

    def mark(found: re.Match[str]) -> str:
        return paint(found[0], MARK) if found[0].casefold() in words else found[0]

    for line in lay_out(visible(text).expandtabs(TAB), columns):
        yield WORD.sub(mark, line)
