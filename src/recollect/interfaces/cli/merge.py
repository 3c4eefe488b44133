"""`recollect merge`."""

from __future__ import annotations

import argparse

from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.ids import meant, only
from recollect.interfaces.cli.opening import opened
from recollect.interfaces.cli.output import say
from recollect.lifetime import Lifetime
from recollect.present.words import counted


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", help="the memories, two or more")
    parser.add_argument(
        "--into", metavar="ID", help="the one that stays (default: the first of them)"
    )
    add_json(parser)


@command("  recollect merge deploy-001 deploy-002 --into deploy-002", arguments)
def merge(args: argparse.Namespace) -> int:
    with opened(lifetime=Lifetime.ONCE) as memory:
        args.ids = meant(memory, args.ids)
        kept = memory.merge(args.ids, into=args.into and only(memory, args.into)).id
    gone = [id for id in dict.fromkeys(args.ids) if id != kept]
    sentence = f"{counted(len(gone), 'memory')} merged into {kept}. To undo: recollect undo"
    say(args.json, sentence, merged=gone, into=kept)
    return 0
