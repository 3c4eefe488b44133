"""Commands about vaults: lock one, search others, share collections and publish to them."""

from __future__ import annotations

import argparse
import os
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Any

from recollect.checks import check_path
from recollect.engine.session import NOT_IN_FILE
from recollect.errors import NotFound, UserError
from recollect.interfaces.cli import arguments as arg
from recollect.interfaces.cli.arguments import WrongUsage
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.config import add_table, remove_table
from recollect.interfaces.cli.output import BOLD, DIM, YELLOW, paint, print_json, print_rows, say
from recollect.interfaces.cli.selection import confirm, open_vault, resolve_ids
from recollect.present.sentences import counted, visible
from recollect.settings_reading import home_folder, load_settings
from recollect.store.sqlite.errors import as_store_errors
from recollect.store.sqlite.snapshot import check_is_vault
from recollect.store.sqlite.vault_files import Sealed, header_at, is_key_change_pending, real_path
from recollect.vaults.collections import Collections
from recollect.vaults.keys import (
    Keys,
    describe_key,
    lock_vault,
    on_terminal,
    prompt_passphrase,
    read_passphrase,
    rekey_vault,
    sealed_in_keyring,
    sealed_with,
    unlock_vault,
)
from recollect.vaults.known import (
    FILE,
    FOLDER,
    HOME,
    KnownVault,
    Trusted,
    known_vaults,
    project_vault,
    same_file,
    untrusted_vault,
    working_folder,
)

ACTIONS = ("status", "lock", "rekey", "unlock")
ABOUT = (
    "status (default): show whether the vault is locked; lock: encrypt it with a passphrase, which "
    "every command then asks for; rekey: change the passphrase; unlock: decrypt it permanently"
)


@command(
    "  recollect vault lock\n  recollect vault status",
    arg.argument("action", "ACTION", ABOUT, choices=ACTIONS, nargs="?", default="status"),
    arg.one_of(
        arg.argument(
            "--new-passphrase-file",
            "FILE",
            "for lock, rekey: a file whose first line is the new passphrase",
        ),
        arg.flag("--keyring", "for lock, rekey: keep a random key in the system's keyring instead"),
    ),
    arg.flag("--yes", "for unlock: do not ask for confirmation"),
    arg.add_json,
)
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
        lock_vault(path, keys, lambda: _read_new_key(args, path, keys.configured_passphrase()))
    elif not path.is_file():
        raise UserError(f"There is no vault at {path} yet.")
    elif args.action == "rekey":
        rekey_vault(path, keys, lambda: _read_new_key(args, path, None))
    elif args.action == "unlock":
        confirm(args, f"Unlocking stores the memories in {path} unencrypted.")
        unlock_vault(path, keys)
    _print_state(args, path)


def _read_new_key(args: argparse.Namespace, path: Path, otherwise: str | None) -> Sealed:
    """Return the new key: from the options, else `otherwise`, else as typed."""
    if args.keyring:
        return sealed_in_keyring(path)
    if args.new_passphrase_file:
        return sealed_with(read_passphrase(args.new_passphrase_file))
    if otherwise is not None:
        return sealed_with(otherwise)
    if not on_terminal():
        raise UserError("The new passphrase is missing. Use --new-passphrase-file FILE.")
    first = prompt_passphrase("New passphrase: ")
    if prompt_passphrase("There is no recovery if you lose it. Repeat the passphrase: ") != first:
        raise UserError("The two passphrases differ. Nothing was changed.")
    return sealed_with(first)


def _print_state(args: argparse.Namespace, path: Path) -> None:
    state = _read_state(path)
    if args.json:
        print_json(state)
        return
    if state["locked"]:
        print(f"{path} is locked with {state['key']}.")
    else:
        print(f"{path} is not locked: anyone who can read the file can read the memories.")
    if state["unfinished"]:
        print("A change of its key was interrupted; the next command that opens it will finish it.")


def _read_state(path: Path) -> dict[str, Any]:
    """Return the facts about a vault that need no passphrase."""
    with as_store_errors(path):
        header = header_at(path)
    return {
        "vault": str(path),
        "locked": header is not None,
        "key": None if header is None else describe_key(header),
        "unfinished": is_key_change_pending(real_path(path)),
    }


@command("  recollect vault list\n  recollect vault list --json", arg.rows())
def vault_list(args: argparse.Namespace) -> None:
    home = home_folder(os.environ)
    start, settings, own = working_folder(), load_settings(home), home / "vault.db"
    found = known_vaults(settings, home, own, start)
    waiting = untrusted_vault(settings, home, own, start)
    if args.json:
        listed = [_vault_facts(vault) for vault in found]
        print_rows(args, {"vaults": listed, "untrusted": waiting and str(waiting)}, "vaults")
        return
    for vault in found:
        place = visible(vault.url or str(vault.path))
        tier = "your own" if vault.tier == HOME else vault.tier
        print(f"{paint(f'{vault.name:<16}', BOLD)} {tier:<9}{vault.priority:<6g}{place}")
    if waiting is not None:
        print(paint(f"Not trusted, so not searched: {visible(str(waiting))}", YELLOW))
        print(paint("To search it too: recollect vault trust", YELLOW))


def _vault_facts(vault: KnownVault) -> dict[str, Any]:
    place = {"url": vault.url} if vault.url else {"path": str(vault.path)}
    return {"name": vault.name, "tier": vault.tier, "priority": vault.priority, **place}


@command(
    "  recollect vault add platform /srv/team.db --tier team\n"
    "  recollect vault add ops https://recollect.example --token-env OPS_TOKEN",
    arg.argument("name", "NAME", "the vault's name, for results and settings"),
    arg.argument("place", "PLACE", "its file, or the URL of its server"),
    arg.argument(
        "--tier", "TIER", "project, team or dynamic (default: team for a file, dynamic for a URL)"
    ),
    arg.argument("--priority", "N", "weight of its results (default: by tier)", type=float),
    arg.argument("--token-env", "NAME", "environment variable with the token", default=""),
    arg.add_json,
)
def vault_add(args: argparse.Namespace) -> None:
    home, name, place = home_folder(os.environ), args.name, args.place
    remote = "://" in place
    fields: dict[str, Any] = {"name": name, "tier": args.tier or ("dynamic" if remote else "team")}
    if remote:
        fields["url"] = place
    else:
        fields["path"] = str(check_path(Path(place).absolute()))
    if args.token_env:
        fields["token_env"] = args.token_env
    if args.priority is not None:
        if not isfinite(args.priority):
            raise UserError("The priority must be a number above 0 and at most 1000.")
        fields["priority"] = args.priority

    def check() -> None:
        for vault in _list_known(home):
            if vault.name == name != HOME and vault.path:
                if not vault.path.is_file():
                    place = visible(str(vault.path))
                    raise NotFound(f"There is no file {place}. Name a vault's file.")
                check_is_vault(vault.path)

    config = add_table(home, "vaults", fields, check)
    [added] = [vault for vault in _list_known(home) if vault.name == name]
    say(
        args.json, f"Added: {name}, {paint(f'written to {config}', DIM)}", added=_vault_facts(added)
    )


@command(
    "  recollect vault remove platform", arg.argument("name", "NAME", "the vault"), arg.add_json
)
def vault_remove(args: argparse.Namespace) -> None:
    home, name = home_folder(os.environ), args.name
    remove_table(home, "vaults", name, partial(_list_known, home))
    say(args.json, f"Removed: {name}. Its memories are kept.", removed=name)


def _list_known(home: Path) -> list[KnownVault]:
    return known_vaults(load_settings(home), home, home / "vault.db", None)


PROJECT = arg.argument(
    "folder", "FOLDER", "the project's folder (default: the working directory)", nargs="?"
)


@command("  recollect vault trust\n  recollect vault trust ~/work/harbor", PROJECT, arg.add_json)
def vault_trust(args: argparse.Namespace) -> None:
    home = home_folder(os.environ)
    vault = _find_project_vault(home, args.folder)
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    Trusted(home).add(vault)
    sentence = f"Trusted: {visible(str(vault))}. Searches in this project now include it."
    say(args.json, sentence, trusted=str(vault))


@command("  recollect vault untrust", PROJECT, arg.add_json)
def vault_untrust(args: argparse.Namespace) -> None:
    home = home_folder(os.environ)
    vault = _find_project_vault(home, args.folder)
    gone = Trusted(home).remove(vault)
    what = "No longer trusted" if gone else "Was not trusted"
    say(args.json, f"{what}: {visible(str(vault))}.", untrusted=str(vault), changed=gone)


def _find_project_vault(home: Path, folder: str | None) -> Path:
    start = Path(folder).absolute() if folder else working_folder()
    if start is None:
        raise NotFound("The working directory no longer exists. Name the project's folder.")
    vault = project_vault(start)
    if vault is None:
        raise NotFound(f"There is no {FOLDER}/{FILE} in {visible(str(start))} or above it.")
    if same_file(vault, home / "vault.db"):
        raise UserError(f"{visible(str(vault))} is your own vault; it needs no trust.")
    return vault


def _list_collections(home: Path, args: argparse.Namespace) -> None:
    found = load_settings(home).collections
    if args.json:
        print_rows(args, [{"name": shared.name, "path": shared.path} for shared in found])
        return
    for shared in found:
        print(f"{paint(f'{shared.name:<16}', BOLD)}{visible(shared.path)}")
    if not found:
        print("No collections yet. To add one: recollect vault collections add NAME FILE")


def _add_collection(home: Path, args: argparse.Namespace) -> None:
    name, file = args.names
    fields = {"name": name, "path": str(Path(file).absolute())}
    config = add_table(home, "collections", fields, partial(_check_collections, home))
    say(args.json, f"Added: {name}, {paint(f'written to {config}', DIM)}", added=fields)


def _check_collections(home: Path) -> None:
    """Raise UserError for settings that a search would refuse, such as a duplicate name."""
    settings = load_settings(home)
    Collections(settings.collections, home, os.environ)
    known_vaults(settings, home, home / "vault.db", None)


def _remove_collection(home: Path, args: argparse.Namespace) -> None:
    [name] = args.names
    remove_table(home, "collections", name, partial(load_settings, home))
    say(args.json, f"Removed: {name}. The memories published there are kept.", removed=name)


COLLECTIONS_ACTIONS: arg.Actions[Path] = {
    "list": (_list_collections, "list"),
    "add": (_add_collection, "add NAME FILE"),
    "remove": (_remove_collection, "remove NAME"),
}


@command(
    "  recollect vault collections add platform /srv/platform.db\n"
    "  recollect vault collections\n  recollect vault publish auth-jwt-001 --to platform",
    arg.action(COLLECTIONS_ACTIONS, "the collection; for add also its file"),
    arg.rows(),
)
def vault_collections(args: argparse.Namespace) -> int | None:
    return arg.find_action(args)(home_folder(os.environ), args)


@command(
    "  recollect vault publish auth-jwt-001 --to platform\n"
    "  recollect vault publish auth-jwt-001 --to platform --undo",
    arg.argument("ids", "ID", "the memories", nargs="+"),
    arg.argument("--to", "NAME", "the collection", required=True),
    arg.flag("--undo", "remove them from the collection"),
    arg.add_json,
)
def vault_publish(args: argparse.Namespace) -> None:
    with open_vault() as memory:
        args.ids = resolve_ids(memory, args.ids)
        if args.undo:
            memory.unpublish(args.ids, args.to)
        else:
            memory.publish(args.ids, args.to)
    ids = list(dict.fromkeys(args.ids))
    done = "unpublished" if args.undo else "published"
    sentence = f"{done.capitalize()}: {counted(len(ids), 'memory')}, collection {args.to}."
    say(args.json, sentence, **{done: ids, "collection": args.to})
