"""`recollect reindex`."""

from __future__ import annotations

import argparse

from recollect.engine import Recollect
from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.output import print_json, progress
from recollect.present.words import counted

EXAMPLE = "  recollect reindex"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--all", action="store_true", help="make every vector anew, not only the missing ones"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    with Recollect() as memory:
        total = memory.stats()["memories"] if args.all else memory.waiting()
        with progress("Embedding", total) as advance:
            made = memory.reindex(everything=args.all, progress=advance)
        waiting = memory.waiting()
    if args.json:
        print_json({"vectors": made, "waiting": waiting})
    else:
        print(f"Indexes rebuilt; {counted(made, 'vector')} made.")
    return 0
