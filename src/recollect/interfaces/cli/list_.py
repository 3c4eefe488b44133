"""`recollect list`."""

from __future__ import annotations

import argparse

from recollect.engine import Recollect
from recollect.interfaces.cli.arguments import (
    add_filter,
    add_json,
    add_limit,
    add_no_server,
    filter_of,
)
from recollect.interfaces.cli.output import BOLD, DIM, json_text, shortened, styled, width
from recollect.interfaces.cli.results import about
from recollect.memory_json import memory_json
from recollect.present.visible import visible
from recollect.present.words import title_of

EXAMPLE = "  recollect list --project harbor-api --since 7d"
DEFAULT = 20


def arguments(parser: argparse.ArgumentParser) -> None:
    add_limit(parser, str(DEFAULT))
    parser.add_argument("--after", metavar="ID", help="continue after this memory")
    add_filter(parser)
    add_no_server(parser)
    add_json(parser)


def answer(memory: Recollect, args: argparse.Namespace) -> str:
    now = memory.now()
    limit = DEFAULT if args.limit is None else args.limit
    found = memory.list(filter_of(args, now), limit, args.after)
    if args.json:
        return json_text([memory_json(each) for each in found])
    if not found:
        return "No memories found. To save one: recollect save --title TITLE"
    lines: list[str] = []
    for each in found:
        lines.append(styled(shortened(title_of(each) or each.text, width()), BOLD))
        lines.append(f"    {styled(about(each, now), DIM)}")
    if len(found) == limit:
        lines.append(styled(f"More: recollect list --after {visible(found[-1].id)}", DIM))
    return "\n".join(lines)
