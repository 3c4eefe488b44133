"""`recollect undo`."""

from __future__ import annotations

import argparse

from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.ids import only
from recollect.interfaces.cli.opening import opened
from recollect.interfaces.cli.output import say
from recollect.present.history import undone_text
from recollect.times import iso

EXAMPLE = "  recollect undo\n  recollect undo auth-jwt-001\n  recollect undo auth-jwt-001 --to 2"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id", metavar="ID", nargs="?", help="undo the last change of this memory, not of yours"
    )
    parser.add_argument(
        "--to", metavar="VERSION", type=int, help="go back to this version of it (see history)"
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    with opened(brief=True) as memory:
        done = memory.undo(args.id and only(memory, args.id), to=args.to)
    ids = [each.id for each in done.memories]
    say(
        args.json, undone_text(done.action, done.at, ids, done.forgotten),
        undone=done.action, at=iso(done.at), ids=ids, forgotten=list(done.forgotten),
    )  # fmt: skip
    return 0
