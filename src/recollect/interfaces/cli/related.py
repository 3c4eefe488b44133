"""`recollect related`."""

from __future__ import annotations

import argparse

from recollect.engine import Recollect
from recollect.interfaces.cli.arguments import add_dates, add_json, add_limit
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.ids import only
from recollect.interfaces.cli.output import rows_text
from recollect.present.response import as_json


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the memory")
    add_limit(parser, "5")
    add_dates(parser)
    add_json(parser, rows=True)


@command("  recollect related auth-jwt-001 --limit 5", arguments, reads=True)
def related(memory: Recollect, args: argparse.Namespace) -> str:
    response = memory.related(only(memory, args.id), args.limit)
    if args.json:
        return rows_text(args, as_json(response), "results")
    from recollect.interfaces.cli.results import response_text  # noqa: PLC0415  start-up time

    return response_text(response, memory.now(), dates=args.dates)
