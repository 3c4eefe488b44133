"""`recollect feedback`."""

from __future__ import annotations

import argparse

from recollect.engine import Recollect
from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.output import say

EXAMPLE = '  recollect feedback "refresh tokens" auth-jwt-001 --accept'


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", help="the query that you searched for")
    parser.add_argument("id", metavar="ID", help="the result")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--accept", action="store_true", help="the result was right")
    how.add_argument("--dismiss", action="store_true", help="the result was wrong")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    with Recollect() as memory:
        accepted, dismissed = memory.feedback(args.query, args.id, accept=args.accept)
    sentence = f"Noted. Feedback so far: {accepted} accepted, {dismissed} dismissed."
    say(args.json, sentence, accepted=accepted, dismissed=dismissed)
    return 0
