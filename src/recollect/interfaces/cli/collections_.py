"""`recollect collections`."""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path

from recollect.interfaces.cli.arguments import Actions, add_action, add_json, chosen_action
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.output import BOLD, DIM, print_rows, say, styled
from recollect.interfaces.cli.tables import add_table, remove_table
from recollect.present.visible import visible
from recollect.settings_reading import home_folder, load_settings
from recollect.vaults.collections import Collections
from recollect.vaults.known import known_vaults


def arguments(parser: argparse.ArgumentParser) -> None:
    add_action(parser, ACTIONS, "the collection; for add also its file")
    add_json(parser, rows=True)


@command(
    "  recollect collections add platform /srv/platform.db\n  recollect collections\n"
    "  recollect publish auth-jwt-001 --to platform",
    arguments,
)
def collections(args: argparse.Namespace) -> int:
    return chosen_action(args)(home_folder(os.environ), args)


def _list(home: Path, args: argparse.Namespace) -> int:
    found = load_settings(home).collections
    if args.json:
        print_rows(args, [{"name": shared.name, "path": shared.path} for shared in found])
        return 0
    for shared in found:
        print(f"{styled(f'{shared.name:<16}', BOLD)}{visible(shared.path)}")
    if not found:
        print("No collections yet. To add one: recollect collections add NAME FILE")
    return 0


def _add(home: Path, args: argparse.Namespace) -> int:
    name, file = args.names
    fields = {"name": name, "path": str(Path(file).absolute())}
    config = add_table(home, "collections", fields, partial(_check, home))
    say(args.json, f"Added: {name}, {styled(f'written to {config}', DIM)}", added=fields)
    return 0


def _check(home: Path) -> None:
    """Refuse what a search would refuse: a name that another collection or a vault has."""
    settings = load_settings(home)
    Collections(settings.collections, home, os.environ)
    known_vaults(settings, home, home / "vault.db", None)


def _remove(home: Path, args: argparse.Namespace) -> int:
    [name] = args.names
    remove_table(home, "collections", name, partial(load_settings, home))
    say(args.json, f"Removed: {name}. The memories published there are kept.", removed=name)
    return 0


ACTIONS: Actions[Path] = {
    "list": (_list, "list"),
    "add": (_add, "add NAME FILE"),
    "remove": (_remove, "remove NAME"),
}
