"""`recollect forget`."""

from __future__ import annotations

import argparse

from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.opening import opened
from recollect.interfaces.cli.output import print_json
from recollect.interfaces.cli.selection import add_selection, chosen
from recollect.lifetime import Lifetime
from recollect.present.words import counted

MOST_NAMED = 10  # ids in the sentence that says how to undo it


def arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--undo", action="store_true", help="bring forgotten memories back")
    how.add_argument("--purge", action="store_true", help="delete permanently; cannot be undone")
    add_json(parser)


@command(
    "  recollect forget auth-jwt-000\n  recollect forget --project old-site\n"
    "  recollect forget --undo auth-jwt-000",
    arguments,
)
def forget(args: argparse.Namespace) -> int:
    done = "restored" if args.undo else "purged" if args.purge else "forgotten"
    with opened(lifetime=Lifetime.ONCE) as memory:
        ids = chosen(memory, args, done, forgotten=args.undo)
        memory.forget(ids, undo=args.undo, purge=args.purge)
    if args.json:
        print_json({done: ids})
        return 0
    print(f"{counted(len(ids), 'memory')} {done}.")
    if done == "forgotten" and ids:
        if len(ids) <= MOST_NAMED:
            print(f"To undo: recollect forget --undo {' '.join(ids)}")
        else:
            print("They are in the trash: recollect trash")
    return 0
