"""`recollect backup`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from recollect.engine.backups import check_backup
from recollect.interfaces.cli.arguments import WrongUsage, add_json
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.opening import opened
from recollect.interfaces.cli.output import progress, say
from recollect.present.words import counted
from recollect.store.sqlite.snapshot import VaultSummary


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        help="the file to write, or a folder, where the name has the date "
        "(default: the folder backups in the home)",
    )
    parser.add_argument(
        "--keep",
        type=int,
        metavar="N",
        help="in a folder: keep the newest N backups of this vault, remove older ones",
    )
    parser.add_argument(
        "--check", metavar="FILE", help="only verify this backup; nothing is written"
    )
    add_json(parser)


@command(
    "  recollect backup\n"
    "  recollect backup --keep 7\n"
    "  recollect backup /media/usb/vault.db\n"
    "  recollect backup --check /media/usb/vault.db",
    arguments,
)
def backup(args: argparse.Namespace) -> int:
    if args.check is not None:
        if args.file is not None or args.keep is not None:
            raise WrongUsage("--check takes one file and no other option.")
        holds = check_backup(Path(args.check))
        say(args.json, f"{args.check} is OK: {described(holds)}.", file=args.check, **facts(holds))
        return 0
    if args.keep is not None and args.keep < 1:
        raise WrongUsage("--keep must be 1 or more.")
    with opened() as memory:
        size = memory.path.stat().st_size if memory.path.is_file() else 0
        with progress("Copying", size, bytes_read=True) as advance:
            made = memory.backup(args.file, keep=args.keep, progress=advance)
    sentence = f"Backup verified and saved: {made.file} ({described(made.holds)})"
    if made.removed:
        sentence += f"\n{counted(len(made.removed), 'older backup')} removed."
    removed = [str(file) for file in made.removed]
    say(args.json, sentence, file=str(made.file), **facts(made.holds), removed=removed)
    return 0


def described(holds: VaultSummary) -> str:
    """What a vault file holds, in words."""
    words = counted(holds.memories, "memory")
    if holds.forgotten:
        words += f", {holds.forgotten:,} forgotten"
    return f"{words}, {'locked' if holds.locked else 'not locked'}"


def facts(holds: VaultSummary) -> dict[str, Any]:
    """The same, for programs."""
    return holds._asdict()
