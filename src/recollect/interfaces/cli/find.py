"""`recollect find`."""

from __future__ import annotations

import argparse
import os
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO, cast

from msgspec.structs import replace

from recollect.engine import Recollect
from recollect.entry_points import entry_points_of
from recollect.errors import UserError
from recollect.interfaces.cli import find_text
from recollect.interfaces.cli.arguments import (
    CommandParser,
    add_filter,
    add_limit,
    add_words,
    filter_of,
)
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.main import main
from recollect.interfaces.cli.selection import opened
from recollect.present.picking import GROUP, PickerType
from recollect.present.visible import visible
from recollect.settings import UsageSettings
from recollect.settings_reading import home_folder, load_settings
from recollect.types import Search

OPEN = b"SQLite format 3\0"  # a vault that is not locked begins so
DEFAULT = 20
LEFT = 130  # nothing was chosen: a script that wants an id goes no further
NEEDS = (
    "`recollect find` needs a terminal that can be drawn on and typed into. Use `recollect search "
    "WORDS`, with --ids for ids alone."
)


def arguments(parser: CommandParser) -> None:
    add_words(parser, "query", "the words to begin with", default="")
    parser.add_argument(
        "--recipe", metavar="NAME", help="the ranking to use; see `recollect recipes`"
    )
    add_limit(parser, str(DEFAULT))
    add_filter(parser)


@command(
    "  recollect find\n  recollect find tokens --project harbor-api\n"
    "  recollect show $(recollect find)",
    arguments,
)
def find(args: argparse.Namespace) -> int:
    terminal = terminal_of()
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
        filter=filter_of(args, now),
        mark=True,
    )

    def open_vault() -> Recollect:
        # What somebody types past is of no use to anybody, so it is not counted.
        return opened(settings=replace(settings, usage=UsageSettings(keep=False)))

    memory = open_vault() if _is_locked(home / "vault.db") else None  # asks for the passphrase
    chosen = picker(lambda: memory or open_vault(), search, main, terminal, find_text)
    if chosen is None:
        return LEFT
    if sys.stdout.isatty() and chosen.tier == "file" and Path(chosen.path).is_file():
        return main(["open", "--", chosen.id])
    print(visible(chosen.id) if sys.stdout.isatty() else chosen.id)
    return 0


def _installed_picker() -> PickerType:
    """Return what draws the picker: the first one that is installed, by name."""
    for point in entry_points_of(GROUP).values():
        return cast(PickerType, point.load())
    raise UserError("No picker is installed here. Use `recollect search WORDS`.")


def terminal_of() -> TextIO | None:
    """Return the stream that leads to a terminal on which a picker can be drawn and typed into:
    standard output, or standard error where the id goes into a pipe."""
    if os.environ.get("TERM", "").lower() in ("dumb", "unknown") or not _is_terminal(sys.stdin):
        return None
    return next(filter(_is_terminal, (sys.stdout, sys.stderr)), None)


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and stream.isatty()


def _is_locked(vault: Path) -> bool:
    return vault.is_file() and vault.open("rb").read(len(OPEN)) != OPEN
