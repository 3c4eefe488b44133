"""`recollect tags`."""

from __future__ import annotations

import argparse

from recollect.engine import Recollect
from recollect.errors import NotFound
from recollect.interfaces.cli.arguments import Actions, add_action, add_json, chosen_action
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.opening import opened
from recollect.interfaces.cli.output import say, say_counts
from recollect.interfaces.cli.selection import add_yes, confirm
from recollect.present.words import counted
from recollect.types import Filter


def arguments(parser: argparse.ArgumentParser) -> None:
    names = "rename: the tag and its new name; merge: tags, and last the one they become"
    add_action(parser, ACTIONS, names, "TAG")
    add_yes(parser)
    add_json(parser)


@command(
    "  recollect tags\n  recollect tags rename auht auth\n  recollect tags merge db sql postgres",
    arguments,
)
def tags(args: argparse.Namespace) -> int:
    action = chosen_action(args)
    with opened() as memory:
        return action(memory, args)


def _list(memory: Recollect, args: argparse.Namespace) -> int:
    say_counts(args.json, memory.facets().tags, "No memory has a tag.")
    return 0


def _merge(memory: Recollect, args: argparse.Namespace) -> int:
    """Put the last tag in the place of the others."""
    *old, new = args.names
    gone = [tag for tag in old if tag != new]
    found = {tag: memory.selected(filter=Filter(tags=(tag,))) for tag in gone}
    for tag, ids in found.items():
        if not ids:
            raise NotFound(f"No memory has the tag {tag!r}.")
    every = list(dict.fromkeys(id for ids in found.values() for id in ids))
    if every:
        them = ", ".join(gone)
        confirm(args, f"{counted(len(every), 'memory')} will have {new!r} instead of {them}.")
        memory.tag(every, add=[new], remove=gone)
    say(args.json, f"{counted(len(every), 'memory')} changed.", changed=every)
    return 0


ACTIONS: Actions[Recollect] = {
    "list": (_list, "list"),
    "rename": (_merge, "rename OLD NEW"),
    "merge": (_merge, "merge TAG INTO..."),
}
