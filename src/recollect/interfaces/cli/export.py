"""`recollect export`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from recollect.engine import Recollect
from recollect.errors import UserError
from recollect.ingest.checksum import write_export
from recollect.ingest.jsonl import as_line
from recollect.interfaces.cli.arguments import WrongUsage
from recollect.present.words import counted

EXAMPLE = (
    "  recollect export backup.jsonl\n"
    "  recollect export | gzip > backup.jsonl.gz\n"
    "  recollect export --format markdown notes"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        help="the file to write; - is standard output (default); for markdown: a new or empty "
        "folder",
    )
    parser.add_argument(
        "--format",
        choices=("jsonl", "markdown"),
        default="jsonl",
        help="jsonl (default): one file, a line for each memory; markdown: a folder, a file for "
        "each memory",
    )


def run(args: argparse.Namespace) -> int:
    if args.format == "markdown" and args.file in (None, "-"):
        raise WrongUsage("Name a folder; --format markdown writes a file per memory.")
    with Recollect() as memory:
        if args.format == "markdown":
            count = _folder(memory, Path(args.file))
        elif args.file in (None, "-"):
            sys.stdout.buffer.writelines(as_line(saved) for saved in memory.export())
            return 0
        else:
            count = _written(memory, Path(args.file))
    print(f"{counted(count, 'memory')} written to {args.file}.", file=sys.stderr)
    return 0


def _folder(memory: Recollect, folder: Path) -> int:
    from recollect.mirror.folder import write_folder  # noqa: PLC0415  start-up time

    return write_folder(folder, memory.export())


def _written(memory: Recollect, file: Path) -> int:
    """Write the file and its checksum, and return the number of memories. A pipe or a device is
    written directly."""
    count = 0

    def lines() -> Iterator[bytes]:
        nonlocal count
        for saved in memory.export():
            yield as_line(saved)
            count += 1

    try:
        if file.exists() and not file.is_file():
            with file.open("wb") as stream:
                stream.writelines(lines())
        elif file.is_symlink():
            raise UserError(f"{file} is a link, and links are not followed. Name the file itself.")
        else:
            write_export(file, lines())
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror}.") from error
    return count
