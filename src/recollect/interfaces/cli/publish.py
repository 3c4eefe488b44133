"""`recollect publish`."""

from __future__ import annotations

import argparse

from recollect.engine import Recollect
from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.output import print_json
from recollect.present.words import counted

EXAMPLE = (
    "  recollect publish auth-jwt-001 --to platform\n"
    "  recollect publish auth-jwt-001 --to platform --undo"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", help="which memories")
    parser.add_argument("--to", required=True, metavar="C", help="the collection")
    parser.add_argument("--undo", action="store_true", help="take them out of it again")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    with Recollect() as memory:
        if args.undo:
            memory.unpublish(args.ids, args.to)
        else:
            memory.publish(args.ids, args.to)
    ids = list(dict.fromkeys(args.ids))
    done = "unpublished" if args.undo else "published"
    if args.json:
        print_json({done: ids, "collection": args.to})
    else:
        print(f"{done.capitalize()}: {counted(len(ids), 'memory')}, collection {args.to}.")
    return 0
