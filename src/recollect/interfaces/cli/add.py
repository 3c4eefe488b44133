"""`recollect add`."""

from __future__ import annotations

import argparse

from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.opening import opened
from recollect.interfaces.cli.secrets import add_redact
from recollect.interfaces.cli.syncing import add_no_embed, advancing, embed, follow, tell

EXAMPLE = "  recollect add ~/notes\n  recollect add . --project harbor --watch"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", help="the folder whose files become memories")
    parser.add_argument(
        "--watch", action="store_true", help="keep running and follow its changes, until Ctrl+C"
    )
    parser.add_argument(
        "--project", metavar="NAME", help="the memories' project (default: the folder's name)"
    )
    add_no_embed(parser)
    add_redact(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    with opened() as memory:
        with advancing("Reading") as advance:
            done = memory.add_folder(
                args.folder,
                project=args.project,
                follow=True if args.watch else None,
                redact=args.redact,
                progress=advance,
            )
        if not (args.no_embed or args.watch):
            embed(memory)
        tell(done, memory.waiting(), as_json=args.json, watching=args.watch)
        if args.watch:
            return follow(memory)
    return 0
