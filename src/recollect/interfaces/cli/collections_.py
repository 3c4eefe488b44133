"""`recollect collections`."""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path

from recollect.interfaces.cli.arguments import add_json, check_action
from recollect.interfaces.cli.output import BOLD, DIM, print_json, say, styled, visible
from recollect.interfaces.cli.tables import add_table, remove_table
from recollect.settings import home_folder, load_settings
from recollect.vaults.collections import Collections
from recollect.vaults.known import known_vaults

EXAMPLE = (
    "  recollect collections add platform /srv/platform.db\n  recollect collections\n"
    "  recollect publish auth-jwt-001 --to platform"
)
USAGES = {"list": "list", "add": "add NAME FILE", "remove": "remove NAME"}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", metavar="ACTION", nargs="?", default="list", help="list, add or remove"
    )
    parser.add_argument("names", metavar="NAME", nargs="*", help="a name, and its file")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    home = home_folder(os.environ)
    check_action("collections", args.action, args.names, USAGES)
    if args.action == "add":
        name, file = args.names
        fields = {"name": name, "path": str(Path(file).absolute())}
        config = add_table(home, "collections", fields, partial(_check, home))
        say(args.json, f"Added: {name}, {styled(f'written to {config}', DIM)}", added=fields)
    elif args.action == "remove":
        [name] = args.names
        remove_table(home, "collections", name, partial(load_settings, home))
        say(args.json, f"Removed: {name}; what was published there is untouched.", removed=name)
    else:
        _list(home, as_json=args.json)
    return 0


def _check(home: Path) -> None:
    """As a search would refuse it: names that are taken, by another collection or by a vault."""
    settings = load_settings(home)
    Collections(settings.collections, home, os.environ)
    known_vaults(settings, home, home / "vault.db", None)


def _list(home: Path, *, as_json: bool) -> None:
    found = load_settings(home).collections
    if as_json:
        print_json([{"name": one.name, "path": one.path} for one in found])
        return
    for one in found:
        print(f"{styled(f'{one.name:<16}', BOLD)}{visible(one.path)}")
    if not found:
        print("No collection yet; `recollect collections add NAME FILE` names one.")
