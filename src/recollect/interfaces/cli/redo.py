"""`recollect redo`."""

from __future__ import annotations

import argparse

from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.selection import add_yes
from recollect.interfaces.cli.undo import take_back

EXAMPLE = "  recollect redo"


def arguments(parser: argparse.ArgumentParser) -> None:
    add_yes(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    return take_back(args, lambda memory, agree: memory.redo(agree=agree), "redo", "undo")
