"""`recollect config`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import msgspec

from recollect.interfaces.cli.arguments import Actions, add_action, add_json, find_action
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.output import DIM, paint, print_json, say
from recollect.interfaces.cli.selection import open_vault
from recollect.interfaces.cli.tables import set_value
from recollect.interfaces.cli.upkeep import print_findings
from recollect.present.visible import visible
from recollect.recipes.registry import Recipes
from recollect.settings_reading import (
    check_key,
    checked_value,
    home_folder,
    load_settings,
    sources,
    variable_of,
)


def arguments(parser: argparse.ArgumentParser) -> None:
    add_action(parser, ACTIONS, "a key, such as search.recipe; for set also its value", "KEY")
    add_json(parser, rows=True)


@command(
    "  recollect config\n  recollect config get search.recipe\n"
    "  recollect config set rerank.budget_ms 500\n  recollect config check",
    arguments,
)
def config(args: argparse.Namespace) -> int | None:
    return find_action(args)(home_folder(os.environ), args)


def _read_value(home: Path, key: str) -> Any:
    value = load_settings(home)
    for name in key.split("."):
        value = getattr(value, name)
    return value


def _value_text(value: object) -> str:
    return visible(msgspec.json.encode(value).decode())


def _list(home: Path, args: argparse.Namespace) -> None:
    listed = {
        key: {"value": _read_value(home, key), "from": source}
        for key, source in sources(home).items()
    }
    if args.json:
        print_json(listed)
        return
    for key, each in listed.items():
        source = each["from"]
        where = variable_of(key) if source == "environment" else source
        line = f"{key:<26}{_value_text(each['value']):<22}"
        print(paint(f"{line} {where}", DIM) if source == "default" else f"{line} {where}")
    print(paint(f"file: {visible(str(home / 'config.toml'))}", DIM))


def _get(home: Path, args: argparse.Namespace) -> None:
    [key] = args.names
    check_key(key)
    value = _read_value(home, key)
    text = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    say(args.json, visible(text), **{key: value})


def _set(home: Path, args: argparse.Namespace) -> None:
    key, text = args.names
    value = checked_value(key, text)
    if key.endswith(".recipe"):
        Recipes(home / "recipes").get(str(value))  # or an error that names those there are
    file = set_value(home, key, value, lambda: load_settings(home))
    say(args.json, f"{key} is {_value_text(value)} now, in {visible(str(file))}.", **{key: value})
    if sources(home)[key] == "environment":
        note = f"{variable_of(key)} is set in the environment, and wins over the file."
        print(f"recollect: {note}", file=sys.stderr)


def _check(home: Path, args: argparse.Namespace) -> int:
    with open_vault() as memory:
        found = memory.configuration()
    print_findings(found, args)
    return 1 if any(finding.problem for finding in found) else 0


ACTIONS: Actions[Path] = {
    "list": (_list, "list"),
    "get": (_get, "get KEY"),
    "set": (_set, "set KEY VALUE"),
    "check": (_check, "check"),
}
