"""`recollect duplicates`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping

from recollect.engine import Recollect
from recollect.engine.comparison import DuplicateGroup
from recollect.interfaces.cli.arguments import add_json, add_limit, limit_of
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.layout import cells
from recollect.interfaces.cli.lines import flowing, shortened
from recollect.interfaces.cli.opening import opened
from recollect.interfaces.cli.output import BOLD, DIM, print_rows, progress, styled
from recollect.interfaces.cli.results import INDENT, room
from recollect.present.visible import visible
from recollect.present.words import counted, heading_line
from recollect.types import Memory

DEFAULT = 20


def arguments(parser: argparse.ArgumentParser) -> None:
    add_limit(parser, str(DEFAULT), whole=True)
    add_json(parser, rows=True)


@command("  recollect duplicates\n  recollect duplicates --json", arguments)
def duplicates(args: argparse.Namespace) -> int:
    with opened() as memory:
        with progress("Comparing memories", memory.coverage().memories) as advance:
            every = memory.duplicates(progress=advance)
        groups = every[: limit_of(args, DEFAULT)]
        shown = {id: found for group in groups for id, found in _found(memory, group).items()}
    if args.json:
        print_rows(args, [group._asdict() for group in groups])
        return 0
    if not every:
        print("No two memories say the same.")
        return 0
    for group in groups:
        print("\n".join(_lines(group, shown)), end="\n\n")
    more = "" if len(groups) == len(every) else f"; {len(every) - len(groups):,} more: --all"
    print(styled(f"{counted(len(every), 'group')}{more}", DIM))
    return 0


def _found(memory: Recollect, group: DuplicateGroup) -> dict[str, Memory]:
    return dict(zip(group.ids, memory.looked_up(group.ids), strict=True))


def _lines(group: DuplicateGroup, shown: Mapping[str, Memory]) -> Iterator[str]:
    yield f"{styled(group.reason.capitalize(), BOLD)} ({group.sure:.0%} sure)"
    for id in group.ids:
        heading = shortened(heading_line(shown[id]), max(20, room() - cells(id) - 2))
        yield f"{INDENT}{visible(id)}  {styled(heading, DIM)}"
    if group.reason == "same file":
        yield INDENT + flowing(f"Both are followed: {visible(group.about)}", DIM, 6)
    else:
        yield INDENT + flowing(f"To merge: recollect merge {visible(' '.join(group.ids))}", DIM, 6)
