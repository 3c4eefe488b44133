"""`recollect show`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from recollect.engine import Recollect
from recollect.interfaces.cli.arguments import (
    IDS,
    add_as_of,
    add_dates,
    add_json,
    as_of,
)
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.ids import meant
from recollect.interfaces.cli.lines import flowing
from recollect.interfaces.cli.output import DIM, rows_text
from recollect.interfaces.cli.results import When, as_of_lines, memory_lines, when_of
from recollect.memory_json import memory_json
from recollect.present import sentences
from recollect.present.visible import visible
from recollect.types import Use
from recollect.vaults.known import FoundMemory


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", help=IDS)
    add_dates(parser)
    add_as_of(parser)
    add_json(parser, rows=True)


@command("  recollect show auth-jwt-001", arguments, reads=True)
def show(memory: Recollect, args: argparse.Namespace) -> str:
    ids = meant(memory, args.ids)
    # Before this very command.
    used = {} if args.json or args.as_of else memory.usage(ids)
    then = as_of(args, memory.now())
    found = memory.located(ids, as_of=then)
    if args.json:
        return rows_text(args, [memory_json(each.memory) | _links(each) for each in found])
    when = when_of(args.dates, then or memory.now())
    shown = "\n\n".join("\n".join(_lines(each, when, used.get(each.memory.id))) for each in found)
    return "\n".join([*as_of_lines(then), shown])


def _links(found: FoundMemory) -> dict[str, object]:
    """What a memory's own fields do not say of it; only what there is."""
    links = {"asked": found.asked, "replaces": [each.id for each in found.chain.replaces]}
    return {name: value for name, value in links.items() if value}


def _lines(found: FoundMemory, when: When, used: Use | None) -> Iterator[str]:
    if found.asked:
        yield visible(f"{found.asked} was merged into {found.memory.id}:")
    yield from memory_lines(found.memory, when, used)
    yield from (flowing(visible(line), DIM) for line in sentences.chain(found.chain))
