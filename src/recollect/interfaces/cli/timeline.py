"""`recollect timeline`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from recollect.engine import Recollect
from recollect.engine.browsing import LIMIT, Timeline, TimelineEntry, timeline_json
from recollect.interfaces.cli.arguments import (
    add_dates,
    add_filter,
    add_json,
    add_limit,
    filter_of,
)
from recollect.interfaces.cli.lines import shortened, width
from recollect.interfaces.cli.output import BOLD, DIM, json_text, styled
from recollect.interfaces.cli.results import When, when_of
from recollect.present.words import title_of

EXAMPLE = "  recollect timeline auth-jwt-001\n  recollect timeline yesterday --project harbor-api"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "around", metavar="ID|TIME", help="a memory, or a time: 2026-03-01, yesterday, 7d"
    )
    add_limit(parser, f"{LIMIT} on each side")
    add_filter(parser)
    add_dates(parser)
    add_json(parser)


def answer(memory: Recollect, args: argparse.Namespace) -> str:
    limit = LIMIT if args.limit is None else args.limit
    found = memory.timeline(args.around, limit=limit, filter=filter_of(args, memory.now()))
    if args.json:
        return json_text(timeline_json(found))
    return "\n".join(_lines(found, when_of(args.dates, memory.now())))


def _lines(found: Timeline, when: When) -> Iterator[str]:
    around = [TimelineEntry(found.at, "saved", found.around)] if found.around is not None else []
    entries = (*found.before, *around, *found.after)
    longest = max(len(when(moment)) for moment in (found.at, *(each.at for each in entries)))
    for entry in (*found.before, *around):
        line = _line(entry, when, longest)
        yield styled(line, BOLD) if entry in around else line
    if found.around is None:
        yield styled(f"{when(found.at):<{longest}}  ---", DIM)
    yield from (_line(entry, when, longest) for entry in found.after)


def _line(entry: TimelineEntry, when: When, longest: int) -> str:
    memory = entry.memory
    begin = f"{when(entry.at):<{longest}}  {entry.what:<7}  "
    text = f"{memory.id}: {title_of(memory) or memory.text}"
    return begin + shortened(text, max(20, width() - len(begin)))
