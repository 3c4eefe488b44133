"""`recollect timeline`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from recollect.engine import Recollect
from recollect.engine.timeline import LIMIT, Timeline, TimelineEntry, timeline_json
from recollect.interfaces.cli.arguments import (
    add_filter,
    add_json,
    add_limit,
    add_no_server,
    filter_of,
)
from recollect.interfaces.cli.output import BOLD, DIM, json_text, shortened, styled, width
from recollect.present.words import title_of
from recollect.times import minute

EXAMPLE = "  recollect timeline auth-jwt-001\n  recollect timeline yesterday --project harbor-api"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "around", metavar="ID|TIME", help="a memory, or a time: 2026-03-01, yesterday, 7d"
    )
    add_limit(parser, f"{LIMIT} on each side")
    add_filter(parser)
    add_no_server(parser)
    add_json(parser)


def answer(memory: Recollect, args: argparse.Namespace) -> str:
    limit = LIMIT if args.limit is None else args.limit
    found = memory.timeline(args.around, limit=limit, filter=filter_of(args, memory.now()))
    return json_text(timeline_json(found)) if args.json else "\n".join(_lines(found))


def _lines(found: Timeline) -> Iterator[str]:
    yield from map(_line, found.before)
    if found.around is not None:
        yield styled(_line(TimelineEntry(found.at, "saved", found.around)), BOLD)
    else:
        yield styled(f"{minute(found.at)}  ---", DIM)
    yield from map(_line, found.after)


def _line(entry: TimelineEntry) -> str:
    memory = entry.memory
    said = f"{minute(entry.at)}  {entry.what:<7}  {memory.id}: {title_of(memory) or memory.text}"
    return shortened(said, width())
