"""`recollect undo`, and what `recollect redo` shares with it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator

from recollect.engine import Recollect
from recollect.engine.history import Agree, Undone, undone_json
from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.ids import only
from recollect.interfaces.cli.lines import shortened, width
from recollect.interfaces.cli.opening import opened
from recollect.interfaces.cli.output import say
from recollect.interfaces.cli.selection import add_yes, confirm
from recollect.lifetime import Lifetime
from recollect.present.visible import visible
from recollect.present.words import counted, heading_line
from recollect.times import minute
from recollect.vaults.keys import on_terminal

MOST_NAMED = 10  # memories, a line each
MOST_UNASKED = 5  # that a terminal is not asked about


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id", metavar="ID", nargs="?", help="undo this memory's last change, whoever made it"
    )
    parser.add_argument(
        "--to", metavar="VERSION", type=int, help="go back to this version of it (see history)"
    )
    add_yes(parser)
    add_json(parser)


@command(
    "  recollect undo\n  recollect undo auth-jwt-001\n  recollect undo auth-jwt-001 --to 2",
    arguments,
)
def undo(args: argparse.Namespace) -> int:
    def undo(memory: Recollect, agree: Agree) -> Undone:
        return memory.undo(args.id and only(memory, args.id), to=args.to, agree=agree)

    return take_back(args, undo, "undo", "redo")


def take_back(
    args: argparse.Namespace, act: Callable[[Recollect, Agree], Undone], verb: str, other: str
) -> int:
    """Undo or redo something and name it; ask a person first where it is much. `other`: the command
    that takes it back."""

    def agree(undone: Undone) -> None:
        if len(undone.memories) > MOST_UNASKED and on_terminal() and not args.yes:
            print("\n".join(_lines(undone)), file=sys.stderr)
            confirm(args, f"This {verb}es the {_what(undone)}.")

    with opened(lifetime=Lifetime.ONCE) as memory:
        done = act(memory, agree)
    back = f"To go back: recollect {other}"
    told = [f"{verb.capitalize()}ne: {_what(done)}.", *_lines(done), back]
    say(args.json, "\n".join(told), **undone_json(done, f"{verb}ne"))
    return 0


def _what(done: Undone) -> str:
    return f"{done.action} of {minute(done.at)}, {counted(len(done.memories), 'memory')}"


def _lines(done: Undone) -> Iterator[str]:
    """A line for each of the first memories: what becomes of it, its title and id."""
    for each in done.memories[:MOST_NAMED]:
        gone, back = each.id in done.forgotten, each.id in done.restored
        what = "to the trash" if gone else "from the trash" if back else "changed"
        id = visible(each.id)
        yield f"  {what:<14}  {shortened(heading_line(each), width() - len(id) - 20)} ({id})"
    if len(done.memories) > MOST_NAMED:
        yield f"  and {len(done.memories) - MOST_NAMED:,} more"
