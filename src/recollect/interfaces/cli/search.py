"""`recollect search` and `recollect related`."""

from __future__ import annotations

import argparse
from datetime import datetime

import msgspec

from recollect.engine import Recollect
from recollect.interfaces.cli import arguments as arg
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.output import print_note, rows_text, screen
from recollect.interfaces.cli.selection import remember_results, resolve_id
from recollect.interfaces.signatures import add_parameters, parameters_of
from recollect.present.response import as_json, compact, near_best
from recollect.present.sentences import visible_json
from recollect.types import Filter, Response, Search

# Fields of a search that have no option, or one that is added separately.
OTHERS = ("query", "limit", "facets", "federate", "as_of", *parameters_of(Filter))


def _add_parameters(parser: arg.CommandParser) -> None:
    offered = parameters_of(Search)
    add_parameters(parser, (each for name, each in offered.items() if name not in OTHERS))


def _explain(name: str, about: str, how: str) -> arg.AddArgument:
    return arg.flag(name, about, action="store_const", dest="explain", const=how, default="")


@command(
    "  recollect search how do we refresh tokens\n"
    "  recollect search tokens --project harbor-api --since 'last week' --explain",
    arg.words("query", "words to look for, unquoted; kind:bug, tag:x and -word filter"),
    arg.limit("the recipe's own"),
    arg.flag("--all", "also show weaker results, which a strong first one hides"),
    _add_parameters,
    arg.add_filter,
    _explain("--explain", "say why each was found", "words"),
    _explain("--explain=full", "show how each score was computed", "full"),
    arg.add_dates,
    arg.add_as_of,
    arg.add_ids_only,
    arg.add_exit_zero,
    arg.rows(),
    arg.flag("--compact", "with --json: results, evidence and counts in one line"),
    reads=True,
)
def search(memory: Recollect, args: argparse.Namespace) -> tuple[str, bool]:
    now: datetime = arg.read_now(args, memory.now())
    response = memory.search(arg.read_search(args, now), mark=not args.json)
    shown = near_best(response) if _may_fold(args) else len(response)
    if screen().session:
        kept = response.results[:shown]
        lines = [(result.file and result.file.line) or 0 for result in kept]
        remember_results(memory, [result.id for result in kept], lines)
    empty = not response.results and not memory.coverage().memories
    return _text(response, now, args, shown, empty), bool(response.results)


def _may_fold(args: argparse.Namespace) -> bool:
    """Return whether weak results may be folded: a person reads the list, and asked neither for a
    length nor for an order."""
    asked = args.all or args.limit is not None or args.sort == "newest"
    return screen().terminal and not (asked or args.json or args.ids)


def _text(
    response: Response, now: datetime, args: argparse.Namespace, shown: int, empty: bool
) -> str:
    if args.ids:
        print_note("" if response.results else " ".join(response.notes))
        return "\n".join(result.id for result in response)
    if args.json:
        if args.compact:
            return visible_json(msgspec.json.encode(compact(response)).decode())
        return rows_text(args, as_json(response, bool(args.explain)), "results")
    from recollect.interfaces.cli.results import response_text  # noqa: PLC0415  start-up time

    then = response.as_of or now
    return response_text(
        response, then, explain=args.explain, dates=args.dates, shown=shown, empty=empty
    )


@command(
    "  recollect related auth-jwt-001 --limit 5",
    arg.argument("id", "ID", "the memory"),
    arg.limit(5),
    arg.add_dates,
    arg.add_ids_only,
    arg.add_exit_zero,
    arg.rows(),
    reads=True,
)
def related(memory: Recollect, args: argparse.Namespace) -> tuple[str, bool]:
    response = memory.related(resolve_id(memory, args.id), args.limit)
    found = bool(response.results)
    if args.ids:
        return "\n".join(result.id for result in response), found
    if args.json:
        return rows_text(args, as_json(response), "results"), found
    from recollect.interfaces.cli.results import response_text  # noqa: PLC0415  start-up time

    return response_text(response, memory.now(), dates=args.dates), found
