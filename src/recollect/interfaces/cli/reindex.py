"""`recollect reindex`."""

from __future__ import annotations

import argparse
from contextlib import suppress

from recollect.errors import StoreError
from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.opening import opened
from recollect.interfaces.cli.output import progress, say
from recollect.present.words import counted


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--all", action="store_true", help="compute every vector again, not only missing ones"
    )
    add_json(parser)


@command("  recollect reindex", arguments)
def reindex(args: argparse.Namespace) -> int:
    with opened(damaged=True) as memory:
        total = 0
        with suppress(StoreError):  # a damaged vault is repaired first
            total = memory.stats()["memories"] if args.all else memory.waiting()
        with progress("Embedding", total) as advance:
            made = memory.reindex(everything=args.all, progress=advance)
        waiting = memory.waiting()
    sentence = f"Indexes rebuilt; {counted(made, 'vector')} computed."
    say(args.json, sentence, vectors=made, waiting=waiting)
    return 0
