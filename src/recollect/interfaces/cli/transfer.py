"""`recollect import` and `recollect export`."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from recollect.checks import not_around_home, outside_home, refuse_link
from recollect.engine import Recollect
from recollect.engine.importing import Imported
from recollect.errors import UserError
from recollect.files import project_of
from recollect.folders import SOURCE as INSTRUCTIONS
from recollect.folders.mirroring import installed_mirror
from recollect.folders.transcript import transcript_clients
from recollect.ingest.exchange import (
    ForeignMemories,
    Line,
    RawLine,
    as_line,
    list_tools,
    load_importer,
    raw_lines,
    stored_line,
    verify,
    write_export,
)
from recollect.interfaces.cli import arguments as arg
from recollect.interfaces.cli.arguments import WrongUsage
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.output import print_json, progress, warn_of_plain_text
from recollect.interfaces.cli.selection import open_vault
from recollect.interfaces.cli.syncing import (
    add_no_embed,
    add_redact,
    compute_vectors,
    late_progress,
    report_redacted,
    report_sync,
    report_waiting,
    synced_json,
)
from recollect.present.sentences import counted, one_line, visible
from recollect.store.base import Stored
from recollect.store.feedback import FeedbackEvent
from recollect.types import Memory


@command(
    "  recollect import memories.jsonl\n  other-tool | recollect import -\n"
    "  recollect import --from obsidian ~/Vault --dry-run",
    arg.argument(
        "file",
        "PATH",
        "a JSON Lines file, one memory a line; - is standard input; with --from: the other tool's "
        "file or folder",
    ),
    arg.argument(
        "--from",
        "TOOL",
        f"import from another tool: {', '.join(list_tools())}; from {INSTRUCTIONS} (a project's "
        "CLAUDE.md, AGENTS.md and rules); or the sessions of a coding agent: "
        f"{', '.join(transcript_clients())}. Instructions and sessions are then followed.",
        dest="tool",
    ),
    arg.flag("--dry-run", "show what would happen; change nothing"),
    arg.flag("--strict", "import nothing if any line is bad"),
    arg.flag(
        "--no-verify",
        "import a file even if its checksum (PATH.sha256) does not match",
        action="store_false",
        dest="verify",
    ),
    add_no_embed,
    add_redact,
    arg.add_json,
)
def import_(args: argparse.Namespace) -> int:
    if args.tool is not None:
        return _import_foreign(args)
    with open_vault() as memory, _open_input(args.file) as (stream, size):
        if args.file != "-":
            outside_home(Path(args.file), memory.home)
            if args.verify:
                verify(Path(args.file), stream)
        done = _run_import(memory, raw_lines(stream), args, size)
        return _report(memory, args, done, {}, {})


def _import_foreign(args: argparse.Namespace) -> int:
    if args.file == "-":
        raise WrongUsage("--from cannot read standard input. Name a file or a folder.")
    if args.tool == INSTRUCTIONS:
        return _import_instructions(args)
    if args.tool in transcript_clients():
        return _import_transcripts(args)
    records = ForeignMemories(load_importer(args.tool), Path(args.file))
    with open_vault() as memory:
        not_around_home(outside_home(Path(args.file), memory.home), memory.home)
        done = _run_import(memory, records, args, None)
        if not records.where:
            raise UserError(f"{args.file} holds nothing from {args.tool}.")
        return _report(memory, args, done, records.where, dict(records.unmapped.most_common()))


def _import_instructions(args: argparse.Namespace) -> int:
    """Import instruction files of a project, or of a client's own folder such as ~/.claude, whose
    memories have no project."""
    root = Path(args.file).expanduser().absolute()
    folder = root if root.is_dir() else root.parent
    project = "" if folder.name.startswith(".") else project_of(folder)
    with open_vault() as memory:
        places, done = memory.add_instructions(
            args.file, project=project, redact=args.redact, dry_run=args.dry_run
        )
        if not (args.dry_run or args.no_embed):
            compute_vectors(memory)
        if args.dry_run and not args.json:
            print("Dry run: " + ", ".join(one_line(str(place)) for place in places))
            return 0
        if args.json:
            print_json(synced_json(done) | {"followed": [str(place) for place in places]})
        else:
            report_sync(done, memory.waiting(), as_json=False)
    return 0


def _import_transcripts(args: argparse.Namespace) -> int:
    if args.dry_run:
        raise WrongUsage("--dry-run does not work for sessions: there is no preview of them.")
    with open_vault() as memory:
        with late_progress("Reading") as advance:
            done = memory.add_transcripts(
                args.file, args.tool, redact=args.redact, progress=advance
            )
        if not args.no_embed:
            compute_vectors(memory)
        report_sync(done, memory.waiting(), as_json=args.json)
    return 0


def _run_import(
    memory: Recollect, lines: Iterable[RawLine | Line], args: argparse.Namespace, size: int | None
) -> Imported:
    # An import makes many objects, but no cycles; collecting would take a fifth of the time.
    gc.disable()
    try:
        with progress("Importing", size, bytes_read=args.tool is None) as advance:
            return memory.import_lines(
                lines,
                strict=args.strict,
                redact=args.redact,
                dry_run=args.dry_run,
                progress=advance,
            )
    finally:
        gc.enable()


def _report(
    memory: Recollect,
    args: argparse.Namespace,
    done: Imported,
    where: dict[int, str],
    unmapped: dict[str, int],
) -> int:
    """Compute missing vectors, then report. `where`: the places of another tool's records."""
    failure = None if args.no_embed or args.dry_run else compute_vectors(memory)
    waiting = memory.waiting()
    for number, reason in done.bad:
        name = one_line(where[number]) if where else f"line {number}"
        print(f"{name}: {reason}", file=sys.stderr)
    if args.json:
        print_json(
            _result_json(done, where, waiting) | ({"not_imported": unmapped} if unmapped else {})
        )
    else:
        _print_summary(done, args.dry_run, f"{len(done.bad):,} not imported" if where else "")
        if unmapped:
            names = ", ".join(f"{visible(name)} ({count:,})" for name, count in unmapped.items())
            print(f"Not imported: {names}.")
        report_waiting(waiting, failure)
        if done.added and not args.dry_run and (note := memory.language_note()):
            print(note)
    report_redacted(done.redacted)
    taken = done.added + done.updated + done.unchanged
    # A bad line is a failure; but some records of other tools can never be imported.
    return 1 if done.bad and not (where and taken) else 0


def _result_json(done: Imported, where: dict[int, str], waiting: int) -> dict[str, Any]:
    bad = [
        ({"where": where[number]} if where else {"line": number}) | {"reason": reason}
        for number, reason in done.bad
    ]
    return {
        "added": done.added, "updated": done.updated, "unchanged": done.unchanged, "bad": bad,
        "waiting": waiting,
    } | ({"redacted": dict(done.redacted)} if done.redacted else {}) | (
        {"feedback": done.feedback} if done.feedback else {}
    )  # fmt: skip


def _print_summary(done: Imported, dry_run: bool, not_imported: str) -> None:
    parts = [
        f"{done.added:,} added", f"{done.updated:,} updated", f"{done.unchanged:,} unchanged",
    ]  # fmt: skip
    if done.feedback:
        parts.append(f"{counted(done.feedback, 'feedback entry')} added")
    if done.bad:
        parts.append(not_imported or counted(len(done.bad), "bad line"))
    print(("Dry run: " if dry_run else "") + ", ".join(parts) + ".")


@contextmanager
def _open_input(name: str) -> Iterator[tuple[BinaryIO, int | None]]:
    """Yield the stream to read, and its size, or None for a pipe."""
    if name == "-":
        yield arg.standard_input(), None
        return
    try:
        stream = Path(name).open("rb")  # noqa: SIM115  closed below; only opening may fail here
    except OSError as error:
        raise UserError(f"{name} cannot be read: {error.strerror}.") from error
    with stream:
        yield stream, os.fstat(stream.fileno()).st_size or None  # 0 for a pipe


@command(
    "  recollect export backup.jsonl\n"
    "  recollect export --all whole-vault.jsonl\n"
    "  recollect export --salvage rescued.jsonl\n"
    "  recollect export | gzip > backup.jsonl.gz\n"
    "  recollect export --format markdown notes",
    arg.argument(
        "file",
        "FILE",
        "the file to write; - is standard output (default); for markdown: a new or empty folder",
        nargs="?",
    ),
    arg.argument(
        "--format",
        "FORMAT",
        "jsonl (default): one file, a line for each memory; markdown: a folder of files",
        choices=("jsonl", "markdown"),
        default="jsonl",
    ),
    arg.flag("--all", "also write the trash and your feedback"),
    arg.flag(
        "--salvage", "from a damaged vault: write all that can be read, with the trash and feedback"
    ),
)
def export(args: argparse.Namespace) -> None:
    if args.format == "markdown" and args.file in (None, "-"):
        raise WrongUsage("Name a folder; --format markdown writes a file per memory.")
    if args.format == "markdown" and (args.all or args.salvage):
        option = "--all" if args.all else "--salvage"
        raise WrongUsage(f"{option} writes JSON Lines; leave out --format markdown.")
    notes: list[str] = []
    counts: Counter[str] = Counter()
    with open_vault(damaged=args.salvage) as memory:
        every: Iterable[Memory | Stored | FeedbackEvent]
        if args.salvage:
            every, notes = memory.export_salvaged()
        else:
            every = memory.export_all() if args.all else memory.export()
        warn_of_plain_text(memory, "this output" if args.file in (None, "-") else args.file)
        if args.format == "markdown":
            memories = (each for each in every if isinstance(each, Memory))
            counts["memory"] = installed_mirror().write_folder(Path(args.file), memories)
        elif args.file in (None, "-"):
            sys.stdout.buffer.writelines(_export_lines(every, counts))
        else:
            _write_file(Path(args.file), _export_lines(every, counts))
    print(*notes, sep="\n", end="\n" if notes else "", file=sys.stderr)
    if args.file in (None, "-"):
        return
    shown = [counted(counts["memory"], "memory")]
    if args.all or args.salvage:
        shown.append(counted(counts["forgotten"], "forgotten memory"))
        shown.append(counted(counts["feedback"], "feedback entry"))
    print(f"{', '.join(shown)} written to {args.file}.", file=sys.stderr)


def _export_lines(
    items: Iterable[Memory | Stored | FeedbackEvent], counts: Counter[str]
) -> Iterator[bytes]:
    """Yield the lines of the export, and count them by kind."""
    for item in items:
        if isinstance(item, FeedbackEvent):
            counts["feedback"] += 1
        else:
            forgotten = isinstance(item, Stored) and item.forgotten
            counts["forgotten" if forgotten else "memory"] += 1
        yield as_line(item) if isinstance(item, Memory) else stored_line(item)


def _write_file(file: Path, lines: Iterable[bytes]) -> None:
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
