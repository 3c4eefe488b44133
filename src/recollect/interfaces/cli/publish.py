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


def run(told: argparse.Namespace) -> int:
    with Recollect() as memory:
        if told.undo:
            memory.unpublish(told.ids, told.to)
        else:
            memory.publish(told.ids, told.to)
    ids = list(dict.fromkeys(told.ids))
    done = "unpublished" if told.undo else "published"
    if told.json:
        print_json({done: ids, "collection": told.to})
    else:
        print(f"{done.capitalize()}: {counted(len(ids), 'memory')}, collection {told.to}.")
    return 0
