"""`recollect supersede`."""

from __future__ import annotations

import argparse

from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.ids import only
from recollect.interfaces.cli.opening import opened
from recollect.interfaces.cli.output import say
from recollect.lifetime import Lifetime


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", metavar="OLD", help="the memory that no longer holds")
    parser.add_argument("new", metavar="NEW", help="the memory that takes its place")
    add_json(parser)


@command("  recollect supersede deploy-jenkins-001 deploy-buildkite-002", arguments)
def supersede(args: argparse.Namespace) -> int:
    with opened(lifetime=Lifetime.ONCE) as memory:
        args.old, args.new = only(memory, args.old), only(memory, args.new)
        memory.supersede(args.old, args.new)
    sentence = f"{args.new} replaces {args.old}."
    say(args.json, sentence, superseded=args.old, superseded_by=args.new)
    return 0
