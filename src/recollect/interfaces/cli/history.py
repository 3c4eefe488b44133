"""`recollect history`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from recollect.engine import Recollect
from recollect.interfaces.cli.arguments import add_json, add_no_server
from recollect.interfaces.cli.ids import only
from recollect.interfaces.cli.output import CYAN, DIM, GREEN, json_text, styled
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

EXAMPLE = "  recollect history auth-jwt-001"
RED = "31"
STYLES = {"same": DIM, "added": GREEN, "removed": RED}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the memory")
    add_no_server(parser)
    add_json(parser)


def answer(memory: Recollect, args: argparse.Namespace) -> str:
    versions = memory.history(only(memory, args.id))
    if args.json:
        return json_text(history_json(versions))
    return "\n".join(_lines(versions))


def _lines(versions: list[Version]) -> Iterator[str]:
    for version, differences in compared(versions):
        yield styled(visible(version_line(version)), CYAN)
        yield from (f"  {_shown(difference)}" for difference in differences)
    if len(versions) > 1:
        yield styled(f"To go back: recollect undo {versions[0].memory.id} --to VERSION", DIM)


def _shown(difference: FieldDifference) -> str:
    """In colours where there are any; else as text with marks."""
    if not screen().coloured:
        return visible(difference_text(difference))
    pieces = (
        styled(visible(" ".join(piece.text.split("\n"))), STYLES[piece.what])
        for piece in difference.pieces
    )
    return f"{difference.field}: {''.join(pieces)}"
