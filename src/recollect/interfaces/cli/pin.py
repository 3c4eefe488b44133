"""`recollect pin`."""

from __future__ import annotations

import argparse

from recollect.engine import Recollect
from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.output import say
from recollect.present.words import counted

EXAMPLE = "  recollect pin auth-jwt-001"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", help="the memories")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    with Recollect() as memory:
        pinned = memory.pin(args.ids)
    say(args.json, f"{counted(len(pinned), 'memory')} pinned.", pinned=[each.id for each in pinned])
    return 0
