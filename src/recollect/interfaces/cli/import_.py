"""`recollect import`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from recollect.engine import Recollect
from recollect.engine.importing import Imported
from recollect.errors import UserError
from recollect.importers import TOOLS, Foreign, importer
from recollect.ingest.jsonl import Line, read_lines
from recollect.interfaces.cli.arguments import WrongUsage, add_json, standard_input
from recollect.interfaces.cli.output import one_line, print_json, progress, visible
from recollect.interfaces.cli.secrets import add_redact, tell_redacted
from recollect.present.words import counted

EXAMPLE = (
    "  recollect import memories.jsonl\n  other-tool | recollect import -\n"
    "  recollect import --from obsidian ~/Vault --dry-run"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="PATH",
        help="JSON Lines, one memory a line; - is stdin; with --from, what that tool has written",
    )  # fmt: skip
    parser.add_argument(
        "--from", dest="tool", metavar="TOOL", help=f"another tool: {', '.join(TOOLS)}"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be done, and do nothing"
    )
    parser.add_argument(
        "--strict", action="store_true", help="one bad line, and nothing goes in at all"
    )
    parser.add_argument(
        "--no-embed", action="store_true", help="leave the vectors to a later `recollect reindex`"
    )
    add_redact(parser)
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    if args.tool is not None:
        return _foreign(args)
    with Recollect() as memory, _opened(args.file) as (stream, size):
        done = _imported(memory, read_lines(stream), args, size)
        return _report(memory, args, done, {}, {})


def _foreign(args: argparse.Namespace) -> int:
    if args.file == "-":
        raise WrongUsage("--from reads files, not standard input; name a path.")
    pieces = Foreign(importer(args.tool), Path(args.file))
    with Recollect() as memory:
        done = _imported(memory, pieces, args, None)
        if not pieces.where:
            raise UserError(f"{args.file} holds nothing that {args.tool} has written.")
        return _report(memory, args, done, pieces.where, dict(pieces.homeless.most_common()))


def _imported(
    memory: Recollect, lines: Iterable[Line], args: argparse.Namespace, size: int | None
) -> Imported:
    with progress("Importing", size, bytes_read=args.tool is None) as advance:
        return memory.import_lines(
            lines, strict=args.strict, redact=args.redact, dry_run=args.dry_run, progress=advance
        )


def _report(
    memory: Recollect,
    args: argparse.Namespace,
    done: Imported,
    where: dict[int, str],
    homeless: dict[str, int],
) -> int:
    """Embed what is new, then say what was done; `where` names bad pieces of another tool."""
    failure = None if args.no_embed or args.dry_run else _embed(memory)
    waiting = memory.waiting()
    for number, reason in done.bad:
        name = one_line(where[number]) if where else f"line {number}"
        print(f"{name}: {reason}", file=sys.stderr)
    if args.json:
        print_json(_as_json(done, where, waiting) | ({"no_place": homeless} if homeless else {}))
    else:
        _say(done, args.dry_run, f"{len(done.bad):,} not taken" if where else "")
        if homeless:
            names = ", ".join(f"{visible(name)} ({count:,})" for name, count in homeless.items())
            print(f"No place here for: {names}.")
        if waiting:
            why = f" ({failure})" if failure else ""
            print(f"{counted(waiting, 'memory')} without a vector yet{why}; `recollect reindex`.")
    tell_redacted(done.redacted)
    taken = done.added + done.updated + done.unchanged
    # Of another tool's files, some are of no use here, and that is no failure; lines all are.
    return 1 if done.bad and not (where and taken) else 0


def _embed(memory: Recollect) -> str | None:
    with progress("Embedding", memory.waiting()) as advance:
        return memory.embed_now(advance)


def _as_json(done: Imported, where: dict[int, str], waiting: int) -> dict[str, Any]:
    bad = [
        ({"where": where[number]} if where else {"line": number}) | {"reason": reason}
        for number, reason in done.bad
    ]
    return {
        "added": done.added, "updated": done.updated, "unchanged": done.unchanged, "bad": bad,
        "waiting": waiting,
    } | ({"redacted": dict(done.redacted)} if done.redacted else {})  # fmt: skip


def _say(done: Imported, dry_run: bool, not_taken: str) -> None:
    parts = [
        f"{done.added:,} added", f"{done.updated:,} updated", f"{done.unchanged:,} unchanged",
    ]  # fmt: skip
    if done.bad:
        parts.append(not_taken or counted(len(done.bad), "bad line"))
    print(("Would be: " if dry_run else "") + ", ".join(parts) + ".")


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
