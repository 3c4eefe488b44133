"""`recollect import`."""

from __future__ import annotations

import argparse
import gc
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from recollect.checks import not_around_home, outside_home
from recollect.engine import Recollect
from recollect.engine.importing import Imported
from recollect.errors import UserError
from recollect.folders.instructions import SOURCE as INSTRUCTIONS
from recollect.folders.transcript import transcript_clients
from recollect.ingest.foreign import ForeignMemories, importer, tools
from recollect.ingest.jsonl import Line, RawLine, raw_lines, verify
from recollect.interfaces.cli.arguments import (
    WrongUsage,
    add_json,
    standard_input,
)
from recollect.interfaces.cli.opening import opened
from recollect.interfaces.cli.output import print_json, progress
from recollect.interfaces.cli.secrets import add_redact, tell_redacted
from recollect.interfaces.cli.syncing import (
    add_no_embed,
    advancing,
    embed,
    synced_json,
    tell,
    tell_waiting,
)
from recollect.present.visible import one_line, visible
from recollect.present.words import counted
from recollect.projects import project_of

EXAMPLE = (
    "  recollect import memories.jsonl\n  other-tool | recollect import -\n"
    "  recollect import --from obsidian ~/Vault --dry-run"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="PATH",
        help="a JSON Lines file, one memory a line; - is standard input; with --from: the other "
        "tool's file or folder",
    )  # fmt: skip
    parser.add_argument(
        "--from",
        dest="tool",
        metavar="TOOL",
        help=f"import from another tool: {', '.join(tools())}; or {INSTRUCTIONS}: a project's "
        "CLAUDE.md, AGENTS.md and rules, or the sessions of a coding agent, as `recollect add "
        f"--transcripts` does: {', '.join(transcript_clients())}; both are followed from then on",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show what would happen; change nothing"
    )
    parser.add_argument("--strict", action="store_true", help="import nothing if any line is bad")
    parser.add_argument(
        "--no-verify", dest="verify", action="store_false",
        help="import a file that differs from the checksum beside it (PATH.sha256)",
    )  # fmt: skip
    add_no_embed(parser)
    add_redact(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    if args.tool is not None:
        return _foreign(args)
    with opened() as memory, _opened(args.file) as (stream, size):
        if args.file != "-":
            outside_home(Path(args.file), memory.home)
        if args.verify and args.file != "-":
            verify(Path(args.file), stream)
        done = _imported(memory, raw_lines(stream), args, size)
        return _report(memory, args, done, {}, {})


def _foreign(args: argparse.Namespace) -> int:
    if args.file == "-":
        raise WrongUsage("--from cannot read standard input. Name a file or a folder.")
    if args.tool == INSTRUCTIONS:
        return _instructions(args)
    if args.tool in transcript_clients():
        return _transcripts(args)
    records = ForeignMemories(importer(args.tool), Path(args.file))
    with opened() as memory:
        not_around_home(outside_home(Path(args.file), memory.home), memory.home)
        done = _imported(memory, records, args, None)
        if not records.where:
            raise UserError(f"{args.file} holds nothing from {args.tool}.")
        return _report(memory, args, done, records.where, dict(records.unmapped.most_common()))


def _instructions(args: argparse.Namespace) -> int:
    """A project's files of instructions; those of a client's own folder, such as ~/.claude, are of
    no project."""
    root = Path(args.file).expanduser().absolute()
    folder = root if root.is_dir() else root.parent
    project = "" if folder.name.startswith(".") else project_of(folder)
    with opened() as memory:
        places, done = memory.add_instructions(
            args.file, project=project, redact=args.redact, dry_run=args.dry_run
        )
        if not (args.dry_run or args.no_embed):
            embed(memory)
        if args.dry_run and not args.json:
            print("Dry run: " + ", ".join(one_line(str(place)) for place in places))
            return 0
        if args.json:
            print_json(synced_json(done) | {"followed": [str(place) for place in places]})
        else:
            tell(done, memory.waiting(), as_json=False)
    return 0


def _transcripts(args: argparse.Namespace) -> int:
    if args.dry_run:
        raise WrongUsage("--dry-run: sessions are read to be added; there is no preview of them.")
    with opened() as memory:
        with advancing("Reading") as advance:
            done = memory.add_transcripts(
                args.file, args.tool, redact=args.redact, progress=advance
            )
        if not args.no_embed:
            embed(memory)
        tell(done, memory.waiting(), as_json=args.json)
    return 0


def _imported(
    memory: Recollect, lines: Iterable[RawLine | Line], args: argparse.Namespace, size: int | None
) -> Imported:
    # Its many objects make no cycles; to look for some would take a fifth of this process's time.
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
    """Embed what is new, then report; `where` names bad records of another tool."""
    failure = None if args.no_embed or args.dry_run else embed(memory)
    waiting = memory.waiting()
    for number, reason in done.bad:
        name = one_line(where[number]) if where else f"line {number}"
        print(f"{name}: {reason}", file=sys.stderr)
    if args.json:
        print_json(
            _as_json(done, where, waiting) | ({"not_imported": unmapped} if unmapped else {})
        )
    else:
        _say(done, args.dry_run, f"{len(done.bad):,} not imported" if where else "")
        if unmapped:
            names = ", ".join(f"{visible(name)} ({count:,})" for name, count in unmapped.items())
            print(f"Not imported: {names}.")
        tell_waiting(waiting, failure)
        if done.added and not args.dry_run and (note := memory.language_note()):
            print(note)
    tell_redacted(done.redacted)
    taken = done.added + done.updated + done.unchanged
    # A bad line is a failure; of another tool's records, some are never of use here.
    return 1 if done.bad and not (where and taken) else 0


def _as_json(done: Imported, where: dict[int, str], waiting: int) -> dict[str, Any]:
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


def _say(done: Imported, dry_run: bool, not_imported: str) -> None:
    parts = [
        f"{done.added:,} added", f"{done.updated:,} updated", f"{done.unchanged:,} unchanged",
    ]  # fmt: skip
    if done.feedback:
        parts.append(f"{counted(done.feedback, 'feedback entry')} added")
    if done.bad:
        parts.append(not_imported or counted(len(done.bad), "bad line"))
    print(("Dry run: " if dry_run else "") + ", ".join(parts) + ".")


@contextmanager
def _opened(name: str) -> Iterator[tuple[BinaryIO, int | None]]:
    """The stream to read, and its size where it has one."""
    if name == "-":
        yield standard_input(), None
        return
    try:
        stream = Path(name).open("rb")  # noqa: SIM115  closed below; only opening may fail here
    except OSError as error:
        raise UserError(f"{name} cannot be read: {error.strerror}.") from error
    with stream:
        yield stream, os.fstat(stream.fileno()).st_size or None  # a pipe has none
