"""`recollect vault`."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from recollect.engine.session import NOT_IN_FILE
from recollect.errors import UserError
from recollect.interfaces.cli.arguments import WrongUsage, add_json
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.output import print_json
from recollect.settings_reading import home_folder, load_settings
from recollect.store.sqlite.cipher import Sealed, header_at, pending, real_path
from recollect.store.sqlite.errors import as_store_errors
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

ACTIONS = {
    "status": "show whether the vault is locked, and how its key is made",
    "lock": "encrypt the vault with a passphrase; every command then asks for it",
    "rekey": "change the passphrase of a locked vault",
    "unlock": "decrypt a locked vault permanently (to only use it, give its passphrase)",
}


def arguments(parser: argparse.ArgumentParser) -> None:
    lines = "\n".join(f"  {name:<8}{about}" for name, about in ACTIONS.items())
    parser.description = f"{parser.description}\n\n{lines}"
    about = "status, lock, rekey or unlock (default: status)"
    parser.add_argument(
        "action", choices=ACTIONS, nargs="?", default="status", metavar="ACTION", help=about
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


@command("  recollect vault lock\n  recollect vault status", arguments)
def vault(args: argparse.Namespace) -> int:
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
    return 0


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
