"""`recollect restore`."""

from __future__ import annotations

import argparse
from pathlib import Path

from recollect.engine import Recollect
from recollect.engine.backups import restore_vault
from recollect.interfaces.cli.arguments import WrongUsage, add_json
from recollect.interfaces.cli.backup import described, facts
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.output import progress, say
from recollect.interfaces.cli.selection import add_selection, change_chosen
from recollect.types import Memory

FILTERS = ("project", "here", "source", "tags", "domain", "kind", "space", "since", "until")


def arguments(parser: argparse.ArgumentParser) -> None:
    add_selection(parser)
    parser.add_argument(
        "--from",
        dest="backup",
        metavar="FILE",
        help="put this backup in place of the whole vault; it is verified first, and the vault "
        "that it replaces is kept",
    )
    add_json(parser)


@command(
    "  recollect restore auth-jwt-000\n  recollect restore --from /media/usb/vault.db", arguments
)
def restore(args: argparse.Namespace) -> int:
    if args.backup is None:
        if not (args.ids or args.query or any(getattr(args, name) for name in FILTERS)):
            raise WrongUsage("Name memories by id, a filter or --query; or a backup: --from FILE.")
        return change_chosen(
            args, "restored", _restored, lambda memory: memory.selected_in_trash, forgotten=True
        )
    if args.ids:
        raise WrongUsage("--from restores the whole vault; leave the ids out.")
    return _from_backup(args)


def _restored(memory: Recollect, ids: list[str]) -> list[Memory]:
    return memory.restore(ids)


def _from_backup(args: argparse.Namespace) -> int:
    file = Path(args.backup)
    size = file.stat().st_size if file.is_file() else 0
    with progress("Copying", size, bytes_read=True) as advance:
        done = restore_vault(file, progress=advance)
    sentence = f"The vault is restored from {file}: {described(done.holds)}."
    if done.replaced is not None:
        sentence += f"\nThe vault as it was: {done.replaced}"
    if done.unlocked:
        sentence += "\nIt was locked and is not any more. To lock it: recollect vault lock"
    replaced = None if done.replaced is None else str(done.replaced)
    say(args.json, sentence, vault=str(done.vault), **facts(done.holds), replaced=replaced)
    return 0
