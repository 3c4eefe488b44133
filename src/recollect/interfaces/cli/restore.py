"""`recollect restore`."""

from __future__ import annotations

import argparse
from pathlib import Path

from recollect.engine.backups import restore_vault
from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.backup import described, facts
from recollect.interfaces.cli.output import progress, say

EXAMPLE = "  recollect restore --from /media/usb/vault.db"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--from",
        dest="backup",
        metavar="FILE",
        required=True,
        help="the backup; it is verified first, and the vault that it replaces is kept",
    )
    add_json(parser)


def run(args: argparse.Namespace) -> int:
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
