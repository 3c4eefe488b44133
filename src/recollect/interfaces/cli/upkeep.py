"""Commands that look after the vault: stats, doctor, reindex, backup, restore, version."""

from __future__ import annotations

import argparse
import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path

from recollect.engine.backups import check_backup, restore_vault
from recollect.errors import RecollectError, StoreError
from recollect.interfaces.cli import arguments as arg
from recollect.interfaces.cli.arguments import WrongUsage
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.layout import count_cells, shorten, width
from recollect.interfaces.cli.output import (
    CYAN,
    DIM,
    GREEN,
    YELLOW,
    paint,
    print_json,
    print_rows,
    progress,
    say,
    screen,
)
from recollect.interfaces.cli.selection import add_selection, change_chosen, open_vault
from recollect.present.response import bar
from recollect.present.sentences import counted, visible
from recollect.store.sqlite.migration import VERSION
from recollect.store.sqlite.snapshot import VaultSummary
from recollect.store.vault import Finding
from recollect.version import __version__

LABELS = {"waiting": "no vector"}
CHARTED = ("kinds", "tiers", "projects")
MOST_BARS = 8
LONGEST_NAME = 20
MONTHS = 24
LEVELS = "▁▂▃▄▅▆▇█"
LONG = 5000  # memories: checking fewer is too quick for a progress bar
# Options that select forgotten memories instead of ids.
RESTORED_BY = ("project", "here", "source", "tags", "domain", "kind", "space", "since", "until")


@command("  recollect stats --json", arg.add_json)
def stats(args: argparse.Namespace) -> None:
    with open_vault() as memory:
        stats = memory.stats()
        drawn = screen().terminal and not args.json
        made = memory.dates().made if drawn else {}
        today = memory.now().date()
    if args.json:
        print_json(stats)
        return
    for name, value in stats.items():
        label = paint(f"{LABELS.get(name, name):<12}", CYAN)
        if drawn and name in CHARTED and value:
            print(label)
            print("\n".join(_bar_lines(value)))
            continue
        shown = f"{value:,}" if isinstance(value, int) else value
        if isinstance(value, dict):
            shown = visible(", ".join(f"{key or '(none)'} {count}" for key, count in value.items()))
        print(f"{label} {shown}")
    if made:
        print(f"{paint('by month    ', CYAN)} {_month_chart(made, today)}")


def _bar_lines(counts: Mapping[str, int]) -> Iterator[str]:
    """Yield a bar for each of the largest counts, and the number of others."""
    shown = {
        shorten(name or "(none)", LONGEST_NAME): count
        for name, count in [*counts.items()][:MOST_BARS]
    }
    names, numbers = (
        max(map(count_cells, shown)),
        max(len(f"{count:,}") for count in shown.values()),
    )
    for name, count in shown.items():
        drawn = bar(count, max(shown.values()), width() - names - numbers - 6)
        gap = " " * (names - count_cells(name))
        yield f"  {name}{gap}  {count:>{numbers},}  {paint(drawn, GREEN)}"
    if len(counts) > MOST_BARS:
        rest = sum([*counts.values()][MOST_BARS:])
        yield paint(f"  {len(counts) - MOST_BARS} others: {rest:,}", DIM)


def _month_chart(made: Mapping[date, int], today: date) -> str:
    """Return the number of memories created in each of the last months as a row of bars."""
    counts: Counter[int] = Counter()
    for day, count in made.items():
        counts[(today.year - day.year) * 12 + today.month - day.month] += count
    oldest = min(MONTHS - 1, max(counts))
    row = [counts[ago] for ago in range(oldest, -1, -1)]
    most = max(row) or 1
    drawn = "".join(LEVELS[-(-count * 7 // most)] if count else " " for count in row)
    return f"{paint(drawn, GREEN)}  {oldest + 1} months, at most {most:,} in one"


@command(
    "  recollect doctor --fix",
    arg.one_of(
        arg.flag("--fix", "repair what can be repaired"),
        arg.flag("--quick", "check totals and a sample, in under a second (default: everything)"),
    ),
    arg.rows(),
)
def doctor(args: argparse.Namespace) -> int:
    with open_vault(damaged=args.fix) as memory:
        total = 0
        with suppress(RecollectError):  # damaged: the checks say so
            total = memory.coverage().memories
        with progress("Checking", 0 if args.quick or total < LONG else total) as advance:
            findings = [*memory.doctor(fix=args.fix, quick=args.quick, progress=advance)]
        damaged = any(finding.problem for finding in findings)
        findings += [] if args.quick else memory.configuration()
    broken = [finding for finding in findings if finding.problem]
    print_findings(findings, args)
    if damaged and not (args.fix or args.json):
        print("To repair: recollect doctor --fix")
    return 1 if broken else 0


def print_findings(findings: Sequence[Finding], args: argparse.Namespace) -> None:
    """Print the findings, a line each."""
    if args.json:
        notes = ({"note": finding.note} if finding.note else {} for finding in findings)
        plain = ({"check": finding.check, "problem": finding.problem} for finding in findings)
        print_rows(args, [one | note for one, note in zip(plain, notes, strict=True)])
        return
    for finding in findings:
        remark = paint(visible(finding.problem or finding.note), YELLOW)
        print(f"{finding.check:<16} {remark or paint('OK', GREEN)}")


@command(
    "  recollect reindex",
    arg.flag("--all", "compute every vector again, not only missing ones"),
    arg.add_json,
)
def reindex(args: argparse.Namespace) -> None:
    with open_vault(damaged=True) as memory:
        total = 0
        with suppress(StoreError):  # a damaged vault is repaired first
            total = memory.stats()["memories"] if args.all else memory.waiting()
        with progress("Embedding", total) as advance:
            made = memory.reindex(everything=args.all, progress=advance)
        waiting = memory.waiting()
    sentence = f"Indexes rebuilt; {counted(made, 'vector')} computed."
    say(args.json, sentence, vectors=made, waiting=waiting)


@command(
    "  recollect backup\n"
    "  recollect backup --keep 7\n"
    "  recollect backup /media/usb/vault.db\n"
    "  recollect backup --check /media/usb/vault.db",
    arg.argument(
        "file",
        "FILE",
        "the file, or a folder for a file named by date (default: backups in the home)",
        nargs="?",
    ),
    arg.argument(
        "--keep",
        "N",
        "in a folder: keep the newest N backups of this vault, remove older ones",
        type=int,
    ),
    arg.argument("--check", "FILE", "only verify this backup; nothing is written"),
    arg.add_json,
)
def backup(args: argparse.Namespace) -> None:
    if args.check is not None:
        if args.file is not None or args.keep is not None:
            raise WrongUsage("--check takes one file and no other option.")
        holds = check_backup(Path(args.check))
        say(
            args.json,
            f"{args.check} is OK: {describe_vault(holds)}.",
            file=args.check,
            **holds._asdict(),
        )
        return
    if args.keep is not None and args.keep < 1:
        raise WrongUsage("--keep must be 1 or more.")
    with open_vault() as memory:
        size = memory.path.stat().st_size if memory.path.is_file() else 0
        with progress("Copying", size, bytes_read=True) as advance:
            made = memory.backup(args.file, keep=args.keep, progress=advance)
    sentence = f"Backup verified and saved: {made.file} ({describe_vault(made.holds)})"
    if made.removed:
        sentence += f"\n{counted(len(made.removed), 'older backup')} removed."
    removed = [str(file) for file in made.removed]
    say(args.json, sentence, file=str(made.file), **made.holds._asdict(), removed=removed)


def describe_vault(holds: VaultSummary) -> str:
    """Return what a vault file holds, in words."""
    words = counted(holds.memories, "memory")
    if holds.forgotten:
        words += f", {holds.forgotten:,} forgotten"
    return f"{words}, {'locked' if holds.locked else 'not locked'}"


@command(
    "  recollect trash restore auth-jwt-000\n  recollect trash restore --from /media/usb/vault.db",
    add_selection,
    arg.argument(
        "--from",
        "FILE",
        "replace the whole vault with this backup, verified first; the old one is kept",
        dest="backup",
    ),
    arg.add_json,
)
def trash_restore(args: argparse.Namespace) -> None:
    if args.backup is None:
        if not (args.ids or args.query or any(getattr(args, name) for name in RESTORED_BY)):
            raise WrongUsage("Name memories by id, a filter or --query; or a backup: --from FILE.")
        change_chosen(args, "restored", lambda memory, ids: memory.restore(ids), in_trash=True)
    elif args.ids:
        raise WrongUsage("--from restores the whole vault; leave the ids out.")
    else:
        _restore_backup(args)


def _restore_backup(args: argparse.Namespace) -> None:
    file = Path(args.backup)
    size = file.stat().st_size if file.is_file() else 0
    with progress("Copying", size, bytes_read=True) as advance:
        done = restore_vault(file, progress=advance)
    sentence = f"The vault is restored from {file}: {describe_vault(done.holds)}."
    if done.replaced is not None:
        sentence += f"\nThe old vault was kept: {done.replaced}"
    if done.unlocked:
        sentence += "\nIt was locked, but the backup is not. To lock it: recollect vault lock"
    replaced = None if done.replaced is None else str(done.replaced)
    say(args.json, sentence, vault=str(done.vault), **done.holds._asdict(), replaced=replaced)


@command("  recollect version\n  recollect version --json", arg.add_json)
def version(args: argparse.Namespace) -> None:
    say(
        args.json,
        f"recollect {__version__}",
        version=__version__,
        vault_version=VERSION,
        python=platform.python_version(),
    )
