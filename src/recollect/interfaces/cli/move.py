"""`recollect move`."""

from __future__ import annotations

import argparse

from recollect.interfaces.cli.arguments import WrongUsage, add_json
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.selection import add_selection, change_chosen


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to-project", metavar="NAME", help='the project; "" for none')
    parser.add_argument("--to-space", metavar="NAME", help='the space; "" for none')
    add_selection(parser)
    add_json(parser)


@command(
    "  recollect move auth-jwt-001 --to-project harbor-api\n"
    "  recollect move --project harbour --to-project harbor-api --yes",
    arguments,
)
def move(args: argparse.Namespace) -> int:
    project, space = args.to_project, args.to_space
    if project is None and space is None:
        raise WrongUsage("Name where to: --to-project NAME or --to-space NAME.")
    return change_chosen(
        args, "moved", lambda memory, ids: memory.move(ids, project=project, space=space)
    )
