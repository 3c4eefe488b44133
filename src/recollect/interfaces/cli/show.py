"""`recollect show`."""

from __future__ import annotations

import argparse

from recollect.engine import Recollect
from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.output import print_json
from recollect.interfaces.cli.results import memory_lines
from recollect.memory_json import memory_json

EXAMPLE = "  recollect show auth-jwt-001"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", help="the memories")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    with Recollect() as memory:
        found = memory.show(args.ids)
    if args.json:
        print_json([memory_json(each) for each in found])
    else:
        print("\n\n".join("\n".join(memory_lines(each)) for each in found))
    return 0
