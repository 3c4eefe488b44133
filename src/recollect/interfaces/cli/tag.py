"""`recollect tag`."""

from __future__ import annotations

import argparse

from recollect.interfaces.cli.arguments import WrongUsage, add_json, add_repeatable
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.selection import add_selection, change_chosen


def arguments(parser: argparse.ArgumentParser) -> None:
    add_repeatable(parser, "--add", "TAG", "add this tag")
    add_repeatable(parser, "--remove", "TAG", "remove this tag")
    add_selection(parser)
    add_json(parser)


@command(
    "  recollect tag auth-jwt-001 --add security\n  recollect tag --tag wip --remove wip", arguments
)
def tag(args: argparse.Namespace) -> int:
    if not (args.add or args.remove):
        raise WrongUsage("Name a tag: --add TAG or --remove TAG.")
    return change_chosen(
        args, "tagged", lambda memory, ids: memory.tag(ids, add=args.add, remove=args.remove)
    )
