"""`recollect publish`."""

from __future__ import annotations

import argparse

from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.ids import meant
from recollect.interfaces.cli.opening import opened
from recollect.interfaces.cli.output import say
from recollect.present.words import counted


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", help="the memories")
    parser.add_argument("--to", required=True, metavar="NAME", help="the collection")
    parser.add_argument("--undo", action="store_true", help="remove them from the collection")
    add_json(parser)


@command(
    "  recollect publish auth-jwt-001 --to platform\n"
    "  recollect publish auth-jwt-001 --to platform --undo",
    arguments,
)
def publish(args: argparse.Namespace) -> int:
    with opened() as memory:
        args.ids = meant(memory, args.ids)
        if args.undo:
            memory.unpublish(args.ids, args.to)
        else:
            memory.publish(args.ids, args.to)
    ids = list(dict.fromkeys(args.ids))
    done = "unpublished" if args.undo else "published"
    sentence = f"{done.capitalize()}: {counted(len(ids), 'memory')}, collection {args.to}."
    say(args.json, sentence, **{done: ids, "collection": args.to})
    return 0
