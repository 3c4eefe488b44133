"""`recollect search` and `recollect related`."""

from __future__ import annotations

import argparse
from datetime import datetime

import msgspec

from recollect.engine import Recollect
from recollect.interfaces.cli.arguments import (
    CommandParser,
    add_as_of,
    add_dates,
    add_filter,
    add_ids_only,
    add_json,
    add_limit,
    add_words,
    now_of,
    search_of,
)
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.output import rows_text, screen
from recollect.interfaces.cli.selection import only, remember
from recollect.interfaces.declared import add_parameters, parameters
from recollect.present.response import as_json, compact
from recollect.present.visible import visible_json
from recollect.types import Filter, Search

# Fields of a search that a person has no use for, or that are options of their own kind.
OTHERS = ("query", "limit", "facets", "federate", "as_of", *parameters(Filter))


def _search_arguments(parser: CommandParser) -> None:
    add_words(parser, "query", "words to look for, unquoted; kind:bug, tag:x and -word filter")
    add_limit(parser, "the recipe's own")
    offered = parameters(Search)
    add_parameters(parser, (each for name, each in offered.items() if name not in OTHERS))
    add_filter(parser)
    parser.add_argument(
        "--explain", action="store_const", const="words", default="", help="say why each is there"
    )
    parser.add_argument(
        "--explain=full",
        dest="explain",
        action="store_const",
        const="full",
        help="show how each score came about, with every number",
    )
    add_dates(parser)
    add_as_of(parser)
    add_ids_only(parser)
    add_json(parser, rows=True)
    parser.add_argument(
        "--compact",
        action="store_true",
        help="with --json: results, evidence and counts in one line",
    )


@command(
    "  recollect search how do we refresh tokens\n"
    "  recollect search tokens --project harbor-api --since 'last week' --explain",
    _search_arguments,
    reads=True,
)
def search(memory: Recollect, args: argparse.Namespace) -> str:
    now: datetime = now_of(args, memory.now())
    response = memory.search(search_of(args, now), mark=not args.json)
    if screen().session:
        lines = [(result.file and result.file.line) or 0 for result in response]
        remember(memory, [result.id for result in response], lines)
    if args.ids:
        return "\n".join(result.id for result in response)
    if args.json:
        if args.compact:
            return visible_json(msgspec.json.encode(compact(response)).decode())
        return rows_text(args, as_json(response, bool(args.explain)), "results")
    from recollect.interfaces.cli.results import response_text  # noqa: PLC0415  start-up time

    then = response.as_of or now
    return response_text(response, then, explain=args.explain, dates=args.dates)


def _related_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="the memory")
    add_limit(parser, "5")
    add_dates(parser)
    add_json(parser, rows=True)


@command("  recollect related auth-jwt-001 --limit 5", _related_arguments, reads=True)
def related(memory: Recollect, args: argparse.Namespace) -> str:
    response = memory.related(only(memory, args.id), args.limit)
    if args.json:
        return rows_text(args, as_json(response), "results")
    from recollect.interfaces.cli.results import response_text  # noqa: PLC0415  start-up time

    return response_text(response, memory.now(), dates=args.dates)
