"""`recollect vaults`."""

from __future__ import annotations

import argparse
import os
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

from recollect.checks import sayable_path
from recollect.errors import NotFound, UserError
from recollect.interfaces.cli.arguments import Actions, add_action, add_json, chosen_action
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.output import BOLD, DIM, YELLOW, print_rows, say, styled
from recollect.interfaces.cli.tables import add_table, remove_table
from recollect.present.visible import visible
from recollect.settings_reading import home_folder, load_settings
from recollect.store.sqlite.snapshot import check_is_vault
from recollect.vaults.known import HOME, KnownVault, known_vaults, untrusted_vault
from recollect.vaults.trust import (
    FILE,
    FOLDER,
    Trusted,
    project_vault,
    same_file,
    working_folder,
)


def arguments(parser: argparse.ArgumentParser) -> None:
    names = "the vault; for add also its file or URL; for trust and untrust a project's folder"
    add_action(parser, ACTIONS, names)
    group = parser.add_argument_group("for add")
    group.add_argument(
        "--tier",
        metavar="TIER",
        help="project, team or dynamic (default: team for a file, dynamic for a URL)",
    )
    group.add_argument(
        "--priority", type=float, metavar="N", help="weight of its results (default: by tier)"
    )
    group.add_argument(
        "--token-env", default="", metavar="NAME", help="environment variable with the token"
    )
    add_json(parser, rows=True)


@command(
    "  recollect vaults\n  recollect vaults add platform /srv/team.db --tier team\n"
    "  recollect vaults add ops https://recollect.example --token-env OPS_TOKEN\n"
    "  recollect vaults trust",
    arguments,
)
def vaults(args: argparse.Namespace) -> int:
    return chosen_action(args)(home_folder(os.environ), args)


def _list(home: Path, args: argparse.Namespace) -> int:
    start, settings, own = working_folder(), load_settings(home), home / "vault.db"
    found = known_vaults(settings, home, own, start)
    waiting = untrusted_vault(settings, home, own, start)
    if args.json:
        listed = [_facts(vault) for vault in found]
        print_rows(args, {"vaults": listed, "untrusted": waiting and str(waiting)}, "vaults")
        return 0
    for vault in found:
        place = visible(vault.url or str(vault.path))
        print(f"{styled(f'{vault.name:<16}', BOLD)} {vault.tier:<9}{vault.priority:<6g}{place}")
    if waiting is not None:
        print(styled(f"Not trusted, so not searched: {visible(str(waiting))}", YELLOW))
        print(styled("To search it too: recollect vaults trust", YELLOW))
    return 0


def _facts(vault: KnownVault) -> dict[str, Any]:
    place = {"url": vault.url} if vault.url else {"path": str(vault.path)}
    return {"name": vault.name, "tier": vault.tier, "priority": vault.priority, **place}


def _add(home: Path, args: argparse.Namespace) -> int:
    name, place = args.names
    remote = "://" in place
    fields: dict[str, Any] = {"name": name, "tier": args.tier or ("dynamic" if remote else "team")}
    if remote:
        fields["url"] = place
    else:
        fields["path"] = str(sayable_path(Path(place).absolute()))
    if args.token_env:
        fields["token_env"] = args.token_env
    if args.priority is not None:
        if not isfinite(args.priority):
            raise UserError("The priority must be a number above 0 and at most 1000.")
        fields["priority"] = args.priority

    def check() -> None:

        for vault in _known(home):
            if vault.name == name != HOME and vault.path:
                if not vault.path.is_file():
                    place = visible(str(vault.path))
                    raise NotFound(f"There is no file {place}. Name a vault's file.")
                check_is_vault(vault.path)

    config = add_table(home, "vaults", fields, check)
    [added] = [vault for vault in _known(home) if vault.name == name]
    say(args.json, f"Added: {name}, {styled(f'written to {config}', DIM)}", added=_facts(added))
    return 0


def _remove(home: Path, args: argparse.Namespace) -> int:
    [name] = args.names
    remove_table(home, "vaults", name, partial(_known, home))
    say(args.json, f"Removed: {name}. Its memories are kept.", removed=name)
    return 0


def _known(home: Path) -> list[KnownVault]:
    return known_vaults(load_settings(home), home, home / "vault.db", None)


def _trust(home: Path, args: argparse.Namespace) -> int:
    vault = _project(home, args)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    Trusted(home).add(vault)
    sentence = f"Trusted: {visible(str(vault))}. Searches in this project now include it."
    say(args.json, sentence, trusted=str(vault))
    return 0


def _untrust(home: Path, args: argparse.Namespace) -> int:
    vault = _project(home, args)
    gone = Trusted(home).remove(vault)
    what = "No longer trusted" if gone else "Was not trusted"
    say(args.json, f"{what}: {visible(str(vault))}.", untrusted=str(vault), changed=gone)
    return 0


def _project(home: Path, args: argparse.Namespace) -> Path:
    start = Path(args.names[0]).absolute() if args.names else working_folder()
    if start is None:
        raise NotFound("The working directory no longer exists. Name the project's folder.")
    vault = project_vault(start)
    if vault is None:
        raise NotFound(f"There is no {FOLDER}/{FILE} in {visible(str(start))} or above it.")
    if same_file(vault, home / "vault.db"):
        raise UserError(f"{visible(str(vault))} is your own vault; it needs no trust.")
    return vault


ACTIONS: Actions[Path] = {
    "list": (_list, "list"),
    "add": (_add, "add NAME PATH-OR-URL"),
    "remove": (_remove, "remove NAME"),
    "trust": (_trust, "trust [FOLDER]"),
    "untrust": (_untrust, "untrust [FOLDER]"),
}
