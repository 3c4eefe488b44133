"""`recollect forget`."""

from __future__ import annotations

import argparse

from recollect.engine import Recollect
from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.output import print_json
from recollect.present.words import counted

EXAMPLE = "  recollect forget auth-jwt-000\n  recollect forget --undo auth-jwt-000"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", help="the memories")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--undo", action="store_true", help="bring forgotten memories back")
    how.add_argument("--purge", action="store_true", help="delete permanently; cannot be undone")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    with Recollect(brief=True) as memory:
        memory.forget(args.ids, undo=args.undo, purge=args.purge)
    done = "restored" if args.undo else "purged" if args.purge else "forgotten"
    ids = list(dict.fromkeys(args.ids))
    if args.json:
        print_json({done: ids})
        return 0
    print(f"{counted(len(ids), 'memory')} {done}.")
    if done == "forgotten":
        print(f"To undo: recollect forget --undo {' '.join(ids)}")
    return 0
