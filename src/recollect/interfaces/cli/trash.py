"""`recollect trash`."""

from __future__ import annotations

import argparse

from recollect.checks import LARGEST_LIMIT
from recollect.engine import Recollect
from recollect.interfaces.cli.arguments import (
    WrongUsage,
    add_dates,
    add_filter,
    add_json,
    add_limit,
    filter_of,
    limit_of,
)
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.lines import shortened, width
from recollect.interfaces.cli.opening import opened
from recollect.interfaces.cli.output import BOLD, DIM, print_rows, say, styled
from recollect.interfaces.cli.results import about, room, when_of
from recollect.interfaces.cli.selection import add_yes, confirm
from recollect.lifetime import Lifetime
from recollect.present.words import counted, title_of
from recollect.store.trash import trashed_json

DEFAULT = 20


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", metavar="QUERY", nargs="?", default="", help="what to look for")
    add_limit(parser, str(DEFAULT), whole=True)
    add_dates(parser)
    parser.add_argument(
        "--empty", action="store_true", help="delete all of it permanently; cannot be undone"
    )
    add_filter(parser)
    add_yes(parser)
    add_json(parser, rows=True, unless="empty")


@command(
    "  recollect trash\n  recollect trash deploy --project harbor-api\n  recollect trash --empty",
    arguments,
)
def trash(args: argparse.Namespace) -> int:
    with opened(lifetime=Lifetime.ONCE) as memory:
        now, limit = memory.now(), limit_of(args, DEFAULT)
        filter = filter_of(args, now)
        if args.empty:
            if args.query or filter.narrows():
                raise WrongUsage("--empty is about everything. To purge some: recollect forget "
                                 "--purge ID")  # fmt: skip
            return _empty(memory, args)
        found = memory.trash(args.query, filter, limit)
    if args.json:
        print_rows(args, [trashed_json(each) for each in found])
        return 0
    when = when_of(args.dates, now)
    for each in found:
        heading = title_of(each.memory) or each.memory.text
        print(styled(shortened(heading, width()), BOLD))
        print(f"    {styled(about(each.memory, now, when), DIM)}")
        by = f" by {each.by}" if each.by else ""
        print(f"    {styled(shortened(f'{each.why}, {when(each.at)}{by}', room()), DIM)}")
    if found:
        print(styled("To bring one back: recollect restore ID", DIM))
        if args.limit is None and len(found) == limit:
            print(styled(f"These are the last {limit}. For all: recollect trash --all", DIM))
    else:
        print("Nothing in the trash matches." if args.query else "The trash is empty.")
    return 0


def _empty(memory: Recollect, args: argparse.Namespace) -> int:
    count = len(memory.trash(limit=LARGEST_LIMIT))
    if count:
        confirm(args, f"{counted(count, 'memory')} will be deleted permanently.")
    purged = memory.empty_trash()
    say(args.json, f"{counted(purged, 'memory')} purged.", purged=purged)
    return 0
