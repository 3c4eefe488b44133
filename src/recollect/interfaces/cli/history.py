"""`recollect history`."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator

from recollect.engine import Recollect
from recollect.interfaces.cli.arguments import add_dates, add_json
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.ids import only
from recollect.interfaces.cli.layout import wrapped
from recollect.interfaces.cli.lines import flowing, width
from recollect.interfaces.cli.output import CYAN, DIM, GREEN, rows_text, styled
from recollect.interfaces.cli.results import When, when_of
from recollect.interfaces.cli.screen import screen
from recollect.present.history import (
    FieldDifference,
    compared,
    difference_text,
    history_json,
    version_line,
)
from recollect.present.visible import visible
from recollect.store.history import Version

RED = "31"
# What went and came, by the marks that `difference_text` puts around them.
STYLES = {"[-": RED, "{+": GREEN}
ENDS = ("-]", "+}")
MARKS = re.compile(r"(?=\[-|\{\+)|(?<=-\])|(?<=\+\})")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the memory")
    add_dates(parser)
    add_json(parser, rows=True)


@command("  recollect history auth-jwt-001", arguments, reads=True)
def history(memory: Recollect, args: argparse.Namespace) -> str:
    versions = memory.history(only(memory, args.id))
    if args.json:
        return rows_text(args, history_json(versions))
    return "\n".join(_lines(versions, when_of(args.dates, memory.now())))


def _lines(versions: list[Version], when: When) -> Iterator[str]:
    for version, differences in compared(versions):
        yield flowing(visible(version_line(version, when(version.at))), CYAN)
        yield from (line for difference in differences for line in _shown(difference))
    if len(versions) > 1:
        yield flowing(f"To go back: recollect undo {versions[0].memory.id} --to VERSION", DIM)


def _shown(difference: FieldDifference) -> Iterator[str]:
    """With marks, in lines that fit a terminal, and what went and came in colours."""
    text = visible(difference_text(difference))
    lines = wrapped(text, width() - 4) if screen().terminal else [text]
    style = DIM
    for place, line in enumerate(lines):
        shown = "  " if place == 0 else "    "
        for piece in filter(None, MARKS.split(line)):
            style = STYLES.get(piece[:2], style)
            shown += styled(piece, style)
            style = DIM if piece[-2:] in ENDS else style
        yield shown
