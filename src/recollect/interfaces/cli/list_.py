"""`recollect list`."""

from __future__ import annotations

import argparse

from recollect.engine import Recollect
from recollect.interfaces.cli.arguments import (
    add_as_of,
    add_dates,
    add_filter,
    add_ids_only,
    add_json,
    add_limit,
    as_of,
    filter_of,
    limit_of,
    typed_again,
)
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.ids import only, remember
from recollect.interfaces.cli.lines import flowing, shortened, width
from recollect.interfaces.cli.output import BOLD, DIM, rows_text, styled
from recollect.interfaces.cli.results import about, as_of_lines, when_of
from recollect.memory_json import memory_json
from recollect.present.visible import visible
from recollect.present.words import title_of
from recollect.times import iso, minute

DEFAULT = 20


def arguments(parser: argparse.ArgumentParser) -> None:
    add_limit(parser, str(DEFAULT), whole=True)
    parser.add_argument("--after", metavar="ID", help="continue after this memory")
    add_filter(parser)
    add_dates(parser)
    add_as_of(parser)
    add_ids_only(parser)
    add_json(parser, rows=True)


@command("  recollect list --project harbor-api --since 7d", arguments, reads=True)
def list_(memory: Recollect, args: argparse.Namespace) -> str:
    now = memory.now()
    then = as_of(args, now)
    limit = limit_of(args, DEFAULT)
    filter = filter_of(args, then or now)
    after = args.after and only(memory, args.after)
    found = memory.list(filter, limit, after, as_of=then)
    remember(memory, [each.id for each in found])
    if args.ids:
        return "\n".join(each.id for each in found)
    if args.json:
        return rows_text(args, [memory_json(each) for each in found])
    if not found and then:
        return f"No memories found as of {minute(then)}."
    if not found and args.after:
        return f"No memories found after {visible(args.after)}."
    if not found and filter.narrows():
        return " ".join(["No memories match these filters.", *memory.unknown_values(filter)])
    if not found:
        return "No memories found. To save one: recollect save --title TITLE"
    lines, when = as_of_lines(then), when_of(args.dates, then or now)
    for place, each in enumerate(found, start=1):
        heading = shortened(title_of(each) or each.text, width() - 4)
        lines.append(f"{styled(f'{place:>2}', DIM)}  {styled(heading, BOLD)}")
        lines.append(f"    {styled(about(each, then or now, when), DIM)}")
    last = found[-1].id
    if len(found) == limit and memory.list(filter, 1, last, as_of=then):
        same_time = {"as_of": iso(then)} if then else {}
        again = visible(typed_again(args, after=last, **same_time))
        lines.append(flowing(f"More: recollect list {again}", DIM))
    return "\n".join(lines)
