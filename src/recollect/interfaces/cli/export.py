"""`recollect export`."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from recollect.checks import refuse_link
from recollect.engine import Recollect
from recollect.errors import UserError
from recollect.folders.mirroring import installed_mirror
from recollect.ingest.jsonl import as_line, stored_line, write_export
from recollect.interfaces.cli.arguments import WrongUsage
from recollect.interfaces.cli.opening import opened
from recollect.interfaces.cli.output import warn_of_plain
from recollect.present.words import counted
from recollect.store.base import FeedbackEvent, Stored

EXAMPLE = (
    "  recollect export backup.jsonl\n"
    "  recollect export --all whole-vault.jsonl\n"
    "  recollect export --salvage rescued.jsonl\n"
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
    parser.add_argument(
        "--all", action="store_true", help="write forgotten memories and feedback too"
    )
    parser.add_argument(
        "--salvage",
        action="store_true",
        help="of a damaged vault: write everything that can be read, forgotten memories and "
        "feedback too, and say what cannot",
    )


def run(args: argparse.Namespace) -> int:
    if args.format == "markdown" and args.file in (None, "-"):
        raise WrongUsage("Name a folder; --format markdown writes a file per memory.")
    if args.format == "markdown" and (args.all or args.salvage):
        option = "--all" if args.all else "--salvage"
        raise WrongUsage(f"{option} writes JSON Lines; leave out --format markdown.")
    notes: list[str] = []
    with opened(damaged=args.salvage) as memory:
        if args.salvage:
            stored, notes = memory.export_salvaged()
        warn_of_plain(memory, "this output" if args.file in (None, "-") else args.file)
        if args.format == "markdown":
            counts = Counter({"memory": _folder(memory, Path(args.file))})
        else:
            counts = Counter()
            lines = (
                _stored_lines(stored, counts)
                if args.salvage
                else _lines(memory, counts, everything=args.all)
            )
            if args.file in (None, "-"):
                sys.stdout.buffer.writelines(lines)
            else:
                _write(Path(args.file), lines)
    print(*notes, sep="\n", end="\n" if notes else "", file=sys.stderr)
    if args.file in (None, "-"):
        return 0
    shown = [counted(counts["memory"], "memory")]
    if args.all or args.salvage:
        shown.append(counted(counts["forgotten"], "forgotten memory"))
        shown.append(counted(counts["feedback"], "feedback entry"))
    print(f"{', '.join(shown)} written to {args.file}.", file=sys.stderr)
    return 0


def _folder(memory: Recollect, folder: Path) -> int:
    return installed_mirror().write_folder(folder, memory.export())


def _lines(memory: Recollect, counts: Counter[str], *, everything: bool) -> Iterator[bytes]:
    """The lines of the export; `counts` counts them by what they are."""
    if not everything:
        for saved in memory.export():
            counts["memory"] += 1
            yield as_line(saved)
        return
    yield from _stored_lines(memory.export_all(), counts)


def _stored_lines(items: Iterable[Stored | FeedbackEvent], counts: Counter[str]) -> Iterator[bytes]:
    for item in items:
        if isinstance(item, FeedbackEvent):
            counts["feedback"] += 1
        else:
            counts["forgotten" if item.forgotten else "memory"] += 1
        yield stored_line(item)


def _write(file: Path, lines: Iterable[bytes]) -> None:
    """Write the file and its checksum. A pipe or a device is written directly."""
    try:
        if file.exists() and not file.is_file():
            with file.open("wb") as stream:
                stream.writelines(lines)
        else:
            refuse_link(file)
            write_export(file, lines)
    except OSError as error:
        raise UserError(f"{file} cannot be written: {error.strerror}.") from error
