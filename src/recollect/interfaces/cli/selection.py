"""Select the memories that a command is about, by ids or by filters and a query, and confirm it.

Ids may be abbreviated: `@1` to `@9` are the results of the last search or list on this terminal,
`-` reads ids from standard input, and the beginning of an id is enough. The last results are kept
as ids in a file for each terminal session. For a locked vault they are kept as hashes under its
key, since ids contain words of memories.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from recollect.checks import split_list
from recollect.engine import Recollect
from recollect.errors import NotFound, UserError
from recollect.interfaces import requests
from recollect.interfaces.cli import arguments as arg
from recollect.interfaces.cli.arguments import WrongUsage
from recollect.interfaces.cli.output import print_note, say, screen
from recollect.interfaces.signatures import Parameter, parameters_of
from recollect.present.sentences import counted
from recollect.types import Filter, Memory
from recollect.vaults.keys import on_terminal

open_vault = partial(Recollect, interface="command line")
FOLDER = "last-results"  # in the home
PLACE = re.compile("@[1-9]")
MOST = 9  # results that are remembered
KEPT = 50  # terminal sessions that are remembered
Select = Callable[..., list[str]]


class LastResults(msgspec.Struct):
    """The best results as ids, or for a locked vault as hashes. `lines`: where each matches in its
    file; 0 if not in a file."""

    names: list[str]
    hashed: bool
    lines: list[int]


def remember_results(memory: Recollect, ids: Sequence[str], lines: Sequence[int] = ()) -> None:
    """Remember the ids, and the lines that match in files, as the last results of this terminal;
    does nothing without a terminal."""
    if not screen().session:
        return
    hashed = memory.store.database.locked
    names = [memory.mark(id) if hashed else id for id in ids[:MOST]]
    folder = memory.home / FOLDER
    with suppress(OSError):  # a read-only home
        folder.mkdir(mode=0o700, exist_ok=True)
        file = folder / str(screen().session)
        if not file.exists():
            for old in sorted(folder.iterdir(), key=lambda each: each.stat().st_mtime)[:-KEPT]:
                old.unlink(missing_ok=True)
        handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(handle, "wb") as stream:
            stream.write(msgspec.json.encode(LastResults(names, hashed, [*lines[:MOST]])))


def resolve_ids(memory: Recollect, typed: Sequence[str], *, forgotten: bool = False) -> list[str]:
    """Return the full ids, each once. `forgotten`: look for abbreviated ids in the trash first. An
    unknown id is returned unchanged: another vault may have it."""
    found: list[str] = []
    for name in typed:
        if name == "-":
            found += filter(None, map(str.strip, arg.read_text_file("-").splitlines()))
        else:
            found.append(_last_result(memory, int(name[1:])) if PLACE.fullmatch(name) else name)
    return list(dict.fromkeys(memory.complete_ids(found, forgotten=forgotten)))


def resolve_id(memory: Recollect, typed: str) -> str:
    """Return one full id."""
    [id] = resolve_ids(memory, [typed]) or [typed]
    return id


def matching_line(memory: Recollect, typed: str) -> int:
    """Return the line at which a last result such as `@1` matches in its file; 0 if unknown."""
    if not PLACE.fullmatch(typed):
        return 0
    lines, place = _read_last_results(memory, typed).lines, int(typed[1:])
    return lines[place - 1] if place <= len(lines) else 0


def _read_last_results(memory: Recollect, typed: str) -> LastResults:
    file: Path = memory.home / FOLDER / str(screen().session)
    try:
        return msgspec.json.decode(file.read_bytes(), type=LastResults)
    except (OSError, msgspec.DecodeError):
        raise NotFound(
            f"{typed}: nothing was searched or listed on this terminal yet. Search first, or "
            "type the beginning of an id."
        ) from None


def _last_result(memory: Recollect, place: int) -> str:
    """Return the id at this place of the last results, counted from 1."""
    last = _read_last_results(memory, f"@{place}")
    names = last.names
    if last.hashed:
        ids = memory.ids_by_mark(names)
        names = [ids.get(mark, "") for mark in names]
    if place > len(names) or not names[place - 1]:
        raise NotFound(f"@{place}: the last search or list showed {len(names)} memories.")
    return names[place - 1]


def add_selection(parser: argparse.ArgumentParser, *, named: bool = False) -> None:
    """Add arguments for ids, filters and a query. `named`: filters are given as `--where
    NAME=VALUE`, because the command has other options with their names."""
    arg.argument("ids", "ID", arg.IDS, nargs="*")(parser)
    if named:
        about = f"only where this holds: kind=bug,decision; repeatable; names: {_filter_names()}"
        arg.argument("--where", "NAME=VALUE", about, action="append", default=[])(parser)
    else:
        arg.add_filter(parser)
    arg.argument("--query", "WORDS", "only memories with all of these words", default="")(parser)
    add_yes(parser)


add_yes = arg.flag("--yes", "do not ask for confirmation")


def choose_ids(
    memory: Recollect,
    args: argparse.Namespace,
    done: str,
    select: Select | None = None,
    *,
    forgotten: bool = False,
) -> list[str]:
    """Return the selected ids, each once. Confirm memories that filters or a query found, and
    all that are to be purged; report the number of several other ids. `done`: for these
    sentences, such as "forgotten"; `select`: finds them (default: `Recollect.select_ids`);
    `forgotten`: they are in the trash."""
    filter = _chosen_filter(memory, args)
    if args.ids:
        if filter.narrows() or args.query:
            raise WrongUsage("Name memories by id, or give filters and a query; not both.")
        ids = resolve_ids(memory, args.ids, forgotten=forgotten)
        if done == "purged" and on_terminal():
            confirm(args, f"{counted(len(ids), 'memory')} will be deleted permanently.")
        elif len(ids) > 1 and sys.stderr.isatty():
            print(f"{counted(len(ids), 'memory')} will be {done}.", file=sys.stderr)
        return ids
    if not (filter.narrows() or args.query):
        raise WrongUsage("Name memories by id, or give a filter or a query.")
    ids = (select or memory.select_ids)(query=args.query, filter=filter)
    if ids:
        confirm(args, f"{counted(len(ids), 'memory')} will be {done}.")
    elif unknown := memory.unknown_values(filter):
        print_note(" ".join(unknown))
    return ids


def change_chosen(
    args: argparse.Namespace,
    done: str,
    change: Callable[[Recollect, list[str]], Sequence[Memory]],
    *,
    in_trash: bool = False,
) -> None:
    """Change the selected memories, and print a sentence such as "3 memories pinned."."""
    with open_vault() as memory:
        select = memory.select_in_trash if in_trash else memory.select_ids
        chosen_ids = choose_ids(memory, args, done, select, forgotten=in_trash)
        ids = [each.id for each in change(memory, chosen_ids)]
    say(args.json, f"{counted(len(ids), 'memory')} {done}.", **{done: ids})


def confirm(args: argparse.Namespace, sentence: str, option: str = "yes") -> None:
    """Ask on a terminal whether to go on, unless the option is given; raise UserError if the answer
    is no, or there is no terminal."""
    if getattr(args, option):
        return
    if not on_terminal():
        raise UserError(f"{sentence} Add --{option} to do it.")
    print(f"{sentence} Go on? [y/N] ", end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise UserError("Nothing was changed.")


def _chosen_filter(memory: Recollect, args: argparse.Namespace) -> Filter:
    if "where" not in args:
        return arg.read_filter(args, memory.now())
    names = _filters_by_option()
    found: dict[str, Any] = {}
    for text in args.where:
        name, equals, value = text.partition("=")
        if name not in names or not equals:
            raise WrongUsage(
                f"--where {text}: write it as NAME=VALUE; names are: {_filter_names()}."
            )
        if names[name].several:
            found.setdefault(names[name].name, []).extend(split_list(value))
        else:
            found[name] = value
    return requests.read_filter(found, memory.now())


def _filters_by_option() -> dict[str, Parameter]:
    """Return the filters by the names of their options."""
    offered = parameters_of(Filter).values()
    return {each.one.replace("_", "-"): each for each in offered if each.kind is not bool}


def _filter_names() -> str:
    return ", ".join(_filters_by_option())
