"""`recollect mirror`."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from recollect.errors import RecollectError
from recollect.folders.mirroring import STATE
from recollect.interfaces.cli.arguments import WrongUsage, add_json
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.output import print_json, warn_of_plain
from recollect.interfaces.cli.selection import confirm, opened
from recollect.interfaces.cli.syncing import embed, stopped_by_signals
from recollect.present.visible import visible
from recollect.present.words import counted
from recollect.secrets.redaction import summary

if TYPE_CHECKING:
    from recollect.engine import Recollect
    from recollect.folders.mirroring import Mirrored

# Action → the word for it, in the order in which they are listed.
DONE = {
    "write": "written",
    "edit": "edited",
    "take in": "imported",
    "forget": "forgotten",
    "trash": "moved to .trash",
    "conflict": "in conflict",
}
# What files do to a vault that has never been there.
FROM_FILES = ("take in", "edit", "conflict")


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        metavar="FOLDER",
        nargs="?",
        help="the folder (default: setting mirror.folder)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would happen; change nothing"
    )
    parser.add_argument(
        "--watch", action="store_true", help="keep running and sync every change, until Ctrl+C"
    )
    parser.add_argument(
        "--adopt",
        action="store_true",
        help="import what the folder holds already, without asking, the first time",
    )
    add_json(parser)


@command(
    "  recollect mirror ~/notes/memories\n  recollect mirror ~/notes/memories --dry-run\n"
    "  recollect mirror --watch",
    arguments,
)
def mirror(args: argparse.Namespace) -> int:
    if args.watch and (args.dry_run or args.json):
        raise WrongUsage("--watch cannot be combined with --dry-run or --json.")
    with opened() as memory:
        if not args.dry_run:
            warn_of_plain(memory, "the mirror")
            _ask_first(memory, args)
        done = memory.mirror(args.folder, dry_run=args.dry_run)
        code = _report(done, args)
        if not (args.dry_run or args.watch):
            embed(memory)
        if args.watch:
            stop = stopped_by_signals()
            print("Watching for changes. Press Ctrl+C to stop.", flush=True)
            memory.follow_mirror(args.folder, stop, partial(_follow, args))
    return code


def _ask_first(memory: Recollect, args: argparse.Namespace) -> None:
    """Ask before files become memories that no mirror of this vault has written: a folder that was
    named by mistake may hold anything."""
    if args.adopt or (args.folder and (Path(args.folder) / STATE).exists()):
        return
    planned = memory.mirror(args.folder, dry_run=True)
    count = sum(step.action in FROM_FILES for step in planned.steps)
    if count and not (planned.folder / STATE).exists():
        holds = counted(count, "Markdown file")
        confirm(args, f"{planned.folder} holds {holds}, to become memories.", "adopt")


def _follow(args: argparse.Namespace, done: Mirrored | RecollectError) -> None:
    if isinstance(done, RecollectError):
        print(f"recollect: {done}", file=sys.stderr)
    else:
        _report(done, args)
    sys.stdout.flush()


def _report(done: Mirrored, args: argparse.Namespace) -> int:
    for path, reason in done.problems:
        print(f"{visible(' '.join(path.split()))}: {reason}", file=sys.stderr)
    if args.json:
        print_json(_as_json(done, dry_run=args.dry_run))
    else:
        _tell(done, dry_run=args.dry_run)
    _tell_redacted(done)
    return 1 if done.problems else 0


def _as_json(done: Mirrored, *, dry_run: bool) -> dict[str, object]:
    problems = [{"path": path, "reason": reason} for path, reason in done.problems]
    facts = {
        "folder": str(done.folder),
        "dry_run": dry_run,
        "steps": [step._asdict() for step in done.steps],
        "unchanged": done.unchanged,
        "problems": problems,
    }
    return facts | ({"redacted": dict(done.redacted)} if done.redacted else {})


def _tell(done: Mirrored, *, dry_run: bool) -> None:
    """Print conflicts one by one, and in a dry run everything; the rest is counted."""
    for step in done.steps:
        if dry_run or step.action == "conflict" or step.note:
            more = f" ({step.note})" if step.note else ""
            print(visible(" ".join(f"{DONE[step.action]}: {step.path}{more}".split())))
    counts = Counter(step.action for step in done.steps)
    parts = [f"{counts[action]:,} {words}" for action, words in DONE.items() if action in counts]  # type: ignore[index]
    if done.problems:
        parts.append(f"{len(done.problems):,} skipped")
    line = ", ".join([*parts, f"{done.unchanged:,} unchanged"])
    print(f"Dry run: {line}." if dry_run else f"{line}.")


def _tell_redacted(done: Mirrored) -> None:
    if done.redacted:
        print(
            f"recollect: {summary(done.redacted)}; only in the vault, the files are unchanged.",
            file=sys.stderr,
        )
