"""Which memories a command is about: ids, or filters and a query, and whether that is meant."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from recollect.engine import Recollect
from recollect.errors import UserError
from recollect.interfaces import requests
from recollect.interfaces.cli.arguments import (
    IDS,
    WrongUsage,
    add_filter,
    add_repeatable,
    filter_of,
)
from recollect.interfaces.cli.ids import meant
from recollect.interfaces.cli.opening import opened
from recollect.interfaces.cli.output import say
from recollect.present.words import counted
from recollect.types import ANY_OF, Filter, Memory
from recollect.vaults.keys import on_terminal

# What `list` filters by, for commands whose options of these names are something else.
FILTERS = ("space", "since", "until")
SEVERAL = {
    **{name: name for name in ANY_OF},
    "tag": "tags",
    "not-tag": "without_tags",
    "not-project": "without_projects",
    "not-kind": "without_kinds",
    "not-source": "without_sources",
}
Select = Callable[..., list[str]]


def add_selection(parser: argparse.ArgumentParser, *, named: bool = False) -> None:
    """Ids, or filters and a query. `named`: the filters are given as `--where NAME=VALUE`, since
    the command has options of their names."""
    parser.add_argument("ids", metavar="ID", nargs="*", help=IDS)
    if named:
        about = f"only where it is so: project=harbor-api; filters are {_names()}"
        add_repeatable(parser, "--where", "NAME=VALUE", about)
    else:
        add_filter(parser)
    parser.add_argument(
        "--query", metavar="WORDS", default="", help="only what holds all of these words"
    )
    add_yes(parser)


def add_yes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--yes", action="store_true", help="do not ask for confirmation")


def chosen(
    memory: Recollect,
    args: argparse.Namespace,
    done: str,
    select: Select | None = None,
    *,
    forgotten: bool = False,
) -> list[str]:
    """The ids that the arguments mean, each once. Those that filters or a query find are counted,
    and the terminal is asked whether they shall be `done`: "forgotten". Of several ids that were
    named, a terminal is told the number, and asked before they are purged. `select`: what finds
    them, if not `Recollect.selected`; `forgotten`: it is about what is in the trash."""
    filter = _filter(memory, args)
    if args.ids:
        if filter.narrows() or args.query:
            raise WrongUsage("Name memories by id, or give filters and a query; not both.")
        ids = meant(memory, args.ids, forgotten=forgotten)
        if len(ids) > 1 and done == "purged" and on_terminal():
            confirm(args, f"{counted(len(ids), 'memory')} will be deleted permanently.")
        elif len(ids) > 1 and sys.stderr.isatty():
            print(f"{counted(len(ids), 'memory')} will be {done}.", file=sys.stderr)
        return ids
    if not (filter.narrows() or args.query):
        raise WrongUsage("Name memories by id, or give a filter or a query.")
    ids = (select or memory.selected)(query=args.query, filter=filter)
    if ids:
        confirm(args, f"{counted(len(ids), 'memory')} will be {done}.")
    return ids


def change_chosen(
    args: argparse.Namespace,
    done: str,
    change: Callable[[Recollect, list[str]], Sequence[Memory]],
    select: Callable[[Recollect], Select] = lambda memory: memory.selected,
    *,
    forgotten: bool = False,
) -> int:
    """Change what the arguments mean, and say so: "3 memories pinned."."""
    with opened() as memory:
        chosen_ids = chosen(memory, args, done, select(memory), forgotten=forgotten)
        ids = [each.id for each in change(memory, chosen_ids)]
    say(args.json, f"{counted(len(ids), 'memory')} {done}.", **{done: ids})
    return 0


def confirm(args: argparse.Namespace, sentence: str, option: str = "yes") -> None:
    """Ask on a terminal whether to go on, unless the option says so; UserError where the answer is
    no, or nobody can be asked."""
    if getattr(args, option):
        return
    if not on_terminal():
        raise UserError(f"{sentence} Add --{option} to do it.")
    print(f"{sentence} Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UserError("Nothing was changed.")


def _filter(memory: Recollect, args: argparse.Namespace) -> Filter:
    if "where" not in args:
        return filter_of(args, memory.now())
    found: dict[str, str] = {}
    several: dict[str, list[str]] = {}
    for text in args.where:
        name, equals, value = text.partition("=")
        if name in SEVERAL and equals:
            several.setdefault(SEVERAL[name], []).append(value)
        elif name in FILTERS and equals:
            found[name] = value
        else:
            raise WrongUsage(f"--where {text}: write it as NAME=VALUE; names are: {_names()}.")
    return requests.filter_of({**found, **several}, memory.now(), "--where ")


def _names() -> str:
    return ", ".join((*SEVERAL, *FILTERS))
