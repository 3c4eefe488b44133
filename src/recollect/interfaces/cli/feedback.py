"""`recollect feedback`."""

from __future__ import annotations

import argparse

from recollect.engine import Recollect
from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.output import print_json

EXAMPLE = '  recollect feedback "refresh tokens" auth-jwt-001 --accept'


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", help="the query that was asked")
    parser.add_argument("id", metavar="ID", help="the result it was about")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--accept", action="store_true", help="it was what was looked for")
    how.add_argument("--dismiss", action="store_true", help="it was not")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    with Recollect() as memory:
        accepted, dismissed = memory.feedback(args.query, args.id, accept=args.accept)
    if args.json:
        print_json({"accepted": accepted, "dismissed": dismissed})
    else:
        print(f"Noted: {accepted} accepted and {dismissed} dismissed so far.")
    return 0
