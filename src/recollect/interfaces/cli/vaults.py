"""Commands about vaults: lock one, search others, share collections and publish to them."""

from __future__ import annotations

import argparse
import os
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

from recollect.checks import sayable_path
from recollect.engine.session import NOT_IN_FILE
from recollect.errors import NotFound, UserError
from recollect.interfaces.cli.arguments import (
    Actions,
    WrongUsage,
    add_action,
    add_json,
    chosen_action,
)
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.output import BOLD, DIM, YELLOW, print_json, print_rows, say, styled
from recollect.interfaces.cli.selection import meant, opened
from recollect.interfaces.cli.tables import add_table, remove_table
from recollect.present.visible import visible
from recollect.present.words import counted
from recollect.settings_reading import home_folder, load_settings
from recollect.store.sqlite.cipher import Sealed, header_at, pending, real_path
from recollect.store.sqlite.errors import as_store_errors
from recollect.store.sqlite.snapshot import check_is_vault
from recollect.vaults.collections import Collections
from recollect.vaults.encryption import lock_vault, rekey_vault, unlock_vault
from recollect.vaults.keys import (
    Keys,
    described,
    on_terminal,
    read_passphrase,
    sealed_in_keyring,
    sealed_with,
    typed,
)
from recollect.vaults.known import HOME, KnownVault, known_vaults, untrusted_vault
from recollect.vaults.trust import FILE, FOLDER, Trusted, project_vault, same_file, working_folder

VAULT_ACTIONS = {
    "status": "show whether the vault is locked, and how its key is made",
    "lock": "encrypt the vault with a passphrase; every command then asks for it",
    "rekey": "change the passphrase of a locked vault",
    "unlock": "decrypt a locked vault permanently (to only use it, give its passphrase)",
}


def _vault_arguments(parser: argparse.ArgumentParser) -> None:
    lines = "\n".join(f"  {name:<8}{about}" for name, about in VAULT_ACTIONS.items())
    parser.description = f"{parser.description}\n\n{lines}"
    about = "status, lock, rekey or unlock (default: status)"
    parser.add_argument(
        "action", choices=VAULT_ACTIONS, nargs="?", default="status", metavar="ACTION", help=about
    )
    new = parser.add_mutually_exclusive_group()
    new.add_argument(
        "--new-passphrase-file", metavar="FILE",
        help="for lock and rekey: a file whose first line is the new passphrase",
    )  # fmt: skip
    new.add_argument(
        "--keyring", action="store_true",
        help="for lock and rekey: a random key, kept in the system's keyring "
        "(recollect-memory[keyring])",
    )  # fmt: skip
    parser.add_argument(
        "--yes", action="store_true", help="for unlock: do not ask for confirmation"
    )
    add_json(parser)


@command("  recollect vault lock\n  recollect vault status", _vault_arguments)
def vault(args: argparse.Namespace) -> None:
    home = home_folder(os.environ)
    settings = load_settings(home, os.environ)
    if settings.store.url:
        who = "whoever runs the database encrypts its disks and connections"
        raise UserError(NOT_IN_FILE.format(what="`recollect vault`", who=who))
    keys = Keys(settings.vault, os.environ)
    path = home / "vault.db"
    if (args.keyring or args.new_passphrase_file) and args.action not in ("lock", "rekey"):
        raise WrongUsage("--keyring and --new-passphrase-file need lock or rekey.")
    if args.action == "lock":
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock_vault(path, keys, lambda: _new(args, path, keys.configured()))
    elif not path.is_file():
        raise UserError(f"There is no vault at {path} yet.")
    elif args.action == "rekey":
        rekey_vault(path, keys, lambda: _new(args, path, None))
    elif args.action == "unlock":
        _confirm(args, path)
        unlock_vault(path, keys)
    _print(args, path)


def _new(args: argparse.Namespace, path: Path, otherwise: str | None) -> Sealed:
    """The new key: from the options, else `otherwise`, else typed in."""
    if args.keyring:
        return sealed_in_keyring(path)
    if args.new_passphrase_file:
        return sealed_with(read_passphrase(args.new_passphrase_file))
    if otherwise is not None:
        return sealed_with(otherwise)
    if not on_terminal():
        raise UserError("The new passphrase is missing. Use --new-passphrase-file FILE.")
    first = typed("New passphrase: ")
    if typed("There is no recovery if you lose it. Repeat the passphrase: ") != first:
        raise UserError("The two passphrases differ. Nothing was changed.")
    return sealed_with(first)


def _confirm(args: argparse.Namespace, path: Path) -> None:
    if args.yes:
        return
    if not on_terminal():
        raise UserError("Unlocking stores the memories unencrypted. Add --yes to do it.")
    if input(f"Decrypt {path} permanently? [y/N] ").strip().lower() not in ("y", "yes"):
        raise UserError("Nothing was changed.")


def _print(args: argparse.Namespace, path: Path) -> None:
    state = _state(path)
    if args.json:
        print_json(state)
        return
    if state["locked"]:
        print(f"{path} is locked with {state['key']}.")
    else:
        print(f"{path} is not locked: anyone who can read the file can read the memories.")
    if state["unfinished"]:
        print("A change of its key was interrupted; the next command that opens it will finish it.")


def _state(path: Path) -> dict[str, Any]:
    """What can be said without the passphrase."""
    with as_store_errors(path):
        header = header_at(path)
    return {
        "vault": str(path),
        "locked": header is not None,
        "key": None if header is None else described(header),
        "unfinished": pending(real_path(path)),
    }


def _vaults_arguments(parser: argparse.ArgumentParser) -> None:
    names = "the vault; for add also its file or URL; for trust and untrust a project's folder"
    add_action(parser, VAULTS_ACTIONS, names)
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
    _vaults_arguments,
)
def vaults(args: argparse.Namespace) -> int | None:
    return chosen_action(args)(home_folder(os.environ), args)


def _list_vaults(home: Path, args: argparse.Namespace) -> None:
    start, settings, own = working_folder(), load_settings(home), home / "vault.db"
    found = known_vaults(settings, home, own, start)
    waiting = untrusted_vault(settings, home, own, start)
    if args.json:
        listed = [_facts(vault) for vault in found]
        print_rows(args, {"vaults": listed, "untrusted": waiting and str(waiting)}, "vaults")
        return
    for vault in found:
        place = visible(vault.url or str(vault.path))
        print(f"{styled(f'{vault.name:<16}', BOLD)} {vault.tier:<9}{vault.priority:<6g}{place}")
    if waiting is not None:
        print(styled(f"Not trusted, so not searched: {visible(str(waiting))}", YELLOW))
        print(styled("To search it too: recollect vaults trust", YELLOW))


def _facts(vault: KnownVault) -> dict[str, Any]:
    place = {"url": vault.url} if vault.url else {"path": str(vault.path)}
    return {"name": vault.name, "tier": vault.tier, "priority": vault.priority, **place}


def _add_vault(home: Path, args: argparse.Namespace) -> None:
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


def _remove_vault(home: Path, args: argparse.Namespace) -> None:
    [name] = args.names
    remove_table(home, "vaults", name, partial(_known, home))
    say(args.json, f"Removed: {name}. Its memories are kept.", removed=name)


def _known(home: Path) -> list[KnownVault]:
    return known_vaults(load_settings(home), home, home / "vault.db", None)


def _trust(home: Path, args: argparse.Namespace) -> None:
    vault = _project(home, args)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    Trusted(home).add(vault)
    sentence = f"Trusted: {visible(str(vault))}. Searches in this project now include it."
    say(args.json, sentence, trusted=str(vault))


def _untrust(home: Path, args: argparse.Namespace) -> None:
    vault = _project(home, args)
    gone = Trusted(home).remove(vault)
    what = "No longer trusted" if gone else "Was not trusted"
    say(args.json, f"{what}: {visible(str(vault))}.", untrusted=str(vault), changed=gone)


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


VAULTS_ACTIONS: Actions[Path] = {
    "list": (_list_vaults, "list"),
    "add": (_add_vault, "add NAME PATH-OR-URL"),
    "remove": (_remove_vault, "remove NAME"),
    "trust": (_trust, "trust [FOLDER]"),
    "untrust": (_untrust, "untrust [FOLDER]"),
}


def _collections_arguments(parser: argparse.ArgumentParser) -> None:
    add_action(parser, COLLECTIONS_ACTIONS, "the collection; for add also its file")
    add_json(parser, rows=True)


@command(
    "  recollect collections add platform /srv/platform.db\n  recollect collections\n"
    "  recollect publish auth-jwt-001 --to platform",
    _collections_arguments,
)
def collections(args: argparse.Namespace) -> int | None:
    return chosen_action(args)(home_folder(os.environ), args)


def _list_collections(home: Path, args: argparse.Namespace) -> None:
    found = load_settings(home).collections
    if args.json:
        print_rows(args, [{"name": shared.name, "path": shared.path} for shared in found])
        return
    for shared in found:
        print(f"{styled(f'{shared.name:<16}', BOLD)}{visible(shared.path)}")
    if not found:
        print("No collections yet. To add one: recollect collections add NAME FILE")


def _add_collection(home: Path, args: argparse.Namespace) -> None:
    name, file = args.names
    fields = {"name": name, "path": str(Path(file).absolute())}
    config = add_table(home, "collections", fields, partial(_check_collections, home))
    say(args.json, f"Added: {name}, {styled(f'written to {config}', DIM)}", added=fields)


def _check_collections(home: Path) -> None:
    """Refuse what a search would refuse: a name that another collection or a vault has."""
    settings = load_settings(home)
    Collections(settings.collections, home, os.environ)
    known_vaults(settings, home, home / "vault.db", None)


def _remove_collection(home: Path, args: argparse.Namespace) -> None:
    [name] = args.names
    remove_table(home, "collections", name, partial(load_settings, home))
    say(args.json, f"Removed: {name}. The memories published there are kept.", removed=name)


COLLECTIONS_ACTIONS: Actions[Path] = {
    "list": (_list_collections, "list"),
    "add": (_add_collection, "add NAME FILE"),
    "remove": (_remove_collection, "remove NAME"),
}


def _publish_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", help="the memories")
    parser.add_argument("--to", required=True, metavar="NAME", help="the collection")
    parser.add_argument("--undo", action="store_true", help="remove them from the collection")
    add_json(parser)


@command(
    "  recollect publish auth-jwt-001 --to platform\n"
    "  recollect publish auth-jwt-001 --to platform --undo",
    _publish_arguments,
)
def publish(args: argparse.Namespace) -> None:
    with opened() as memory:
        args.ids = meant(memory, args.ids)
        if args.undo:
            memory.unpublish(args.ids, args.to)
        else:
            memory.publish(args.ids, args.to)
    ids = list(dict.fromkeys(args.ids))
    done = "unpublished" if args.undo else "published"
    sentence = f"{done.capitalize()}: {counted(len(ids), 'memory')}, collection {args.to}."
    say(args.json, sentence, **{done: ids, "collection": args.to})
