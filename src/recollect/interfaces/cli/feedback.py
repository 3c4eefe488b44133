"""`recollect feedback`."""

from __future__ import annotations

import argparse

from recollect.interfaces.cli.arguments import add_json, wrong_call
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.ids import only
from recollect.interfaces.cli.opening import opened
from recollect.interfaces.cli.output import say
from recollect.lifetime import Lifetime


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", help="the query that you searched for")
    parser.add_argument("id", metavar="ID", help="the result")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--accept", action="store_true", help="the result was right")
    how.add_argument("--dismiss", action="store_true", help="the result was wrong")
    parser.add_argument(
        "--undo", action="store_true", help="take back what you said of this result"
    )
    add_json(parser)


@command(
    '  recollect feedback "refresh tokens" auth-jwt-001 --accept\n'
    '  recollect feedback "refresh tokens" auth-jwt-001 --undo',
    arguments,
)
def feedback(args: argparse.Namespace) -> int:
    if not (args.accept or args.dismiss or args.undo):
        raise wrong_call("feedback QUERY ID --accept|--dismiss|--undo")
    accept = args.accept if args.accept or args.dismiss else None
    with opened(lifetime=Lifetime.ONCE) as memory:
        accepted, dismissed = memory.feedback(
            args.query, only(memory, args.id), accept=accept, undo=args.undo
        )
        done = "Taken back." if args.undo else "Noted."
        sentence = f"{done} Feedback so far: {accepted} accepted, {dismissed} dismissed."
        # What there is to learn is learned behind this, while the vault is closed.
        say(args.json, sentence, accepted=accepted, dismissed=dismissed)
    return 0
