"""`recollect pin`."""

from __future__ import annotations

import argparse

from recollect.engine import Recollect
from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.output import print_json
from recollect.present.words import counted

EXAMPLE = "  recollect pin auth-jwt-001"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", help="which memories")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    with Recollect() as memory:
        pinned = memory.pin(args.ids)
    if args.json:
        print_json({"pinned": [one.id for one in pinned]})
    else:
        print(f"{counted(len(pinned), 'memory')} pinned.")
    return 0
