"""`recollect vaults`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

from recollect.checks import sayable_path
from recollect.errors import NotFound, UserError
from recollect.interfaces.cli.arguments import add_json, check_action
from recollect.interfaces.cli.output import BOLD, DIM, YELLOW, print_json, say, styled, visible
from recollect.interfaces.cli.tables import add_table, remove_table
from recollect.settings import home_folder, load_settings
from recollect.vaults.known import Known, known_vaults, untrusted_vault
from recollect.vaults.trust import (
    FILE,
    FOLDER,
    Trusted,
    project_vault,
    same_file,
    working_folder,
)

EXAMPLE = (
    "  recollect vaults\n  recollect vaults add platform /srv/team.db --tier team\n"
    "  recollect vaults add ops https://recollect.example --token-env OPS_TOKEN\n"
    "  recollect vaults trust"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", metavar="ACTION", nargs="?", default="list",
        help="list, add, remove, trust or untrust",
    )  # fmt: skip
    parser.add_argument("names", metavar="NAME", nargs="*", help="a name, and where it is")
    parser.add_argument("--tier", metavar="T", help="project, team or dynamic (default: by place)")
    parser.add_argument("--priority", type=float, metavar="N", help="default: by tier")
    parser.add_argument("--token-env", default="", metavar="V", help="variable with the token")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    usages = {name: usage for name, (_, usage) in ACTIONS.items()}
    check_action("vaults", args.action, args.names, usages)
    action, _ = ACTIONS[args.action]
    action(home_folder(os.environ), args)
    return 0


def _list(home: Path, args: argparse.Namespace) -> None:
    start, settings, own = working_folder(), load_settings(home), home / "vault.db"
    found = known_vaults(settings, home, own, start)
    waiting = untrusted_vault(settings, home, own, start)
    if args.json:
        print_json(
            {"vaults": [_facts(one) for one in found], "untrusted": waiting and str(waiting)}
        )
        return
    for one in found:
        place = visible(one.url or str(one.path))
        print(f"{styled(f'{one.name:<16}', BOLD)} {one.tier:<9}{one.priority:<6g}{place}")
    if waiting is not None:
        print(styled(f"Not used: {visible(str(waiting))}; `recollect vaults trust`.", YELLOW))


def _facts(one: Known) -> dict[str, Any]:
    place = {"url": one.url} if one.url else {"path": str(one.path)}
    return {"name": one.name, "tier": one.tier, "priority": one.priority, **place}


def _add(home: Path, args: argparse.Namespace) -> None:
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
    config = add_table(home, "vaults", fields, partial(_known, home))
    [added] = [one for one in _known(home) if one.name == name]
    say(args.json, f"Added: {name}, {styled(f'written to {config}', DIM)}", added=_facts(added))


def _remove(home: Path, args: argparse.Namespace) -> None:
    [name] = args.names
    remove_table(home, "vaults", name, partial(_known, home))
    say(args.json, f"Removed: {name}; its memories are untouched.", removed=name)


def _known(home: Path) -> list[Known]:
    return known_vaults(load_settings(home), home, home / "vault.db", None)


def _trust(home: Path, args: argparse.Namespace) -> None:
    vault = _project(home, args)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    Trusted(home).add(vault)
    place = str(vault)
    say(
        args.json,
        f"Trusted: {visible(place)} is searched from now on in this project.",
        trusted=place,
    )


def _untrust(home: Path, args: argparse.Namespace) -> None:
    vault = _project(home, args)
    gone = Trusted(home).remove(vault)
    what = "No longer trusted" if gone else "Was not trusted"
    say(args.json, f"{what}: {visible(str(vault))}.", untrusted=str(vault), changed=gone)


def _project(home: Path, args: argparse.Namespace) -> Path:
    start = Path(args.names[0]).absolute() if args.names else working_folder()
    if start is None:
        raise NotFound(
            "The working directory is gone; go to another, or name the project's folder."
        )
    vault = project_vault(start)
    if vault is None:
        raise NotFound(f"There is no {FOLDER}/{FILE} in {visible(str(start))} or above it.")
    if same_file(vault, home / "vault.db"):
        raise UserError(f"{visible(str(vault))} is your own vault, which needs no trust.")
    return vault


ACTIONS: dict[str, tuple[Callable[[Path, argparse.Namespace], None], str]] = {
    "list": (_list, "list"),
    "add": (_add, "add NAME PATH-OR-URL"),
    "remove": (_remove, "remove NAME"),
    "trust": (_trust, "trust [FOLDER]"),
    "untrust": (_untrust, "untrust [FOLDER]"),
}
