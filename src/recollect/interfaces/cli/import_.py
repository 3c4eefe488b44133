"""`recollect import`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from recollect.engine import Recollect
from recollect.errors import UserError
from recollect.ingest.jsonl import read_lines
from recollect.interfaces.cli.arguments import add_json, standard_input
from recollect.interfaces.cli.output import print_json, progress
from recollect.interfaces.cli.secrets import add_redact, tell_redacted
from recollect.present.words import counted

EXAMPLE = "  recollect import memories.jsonl\n  other-tool | recollect import -"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="JSON Lines, one memory a line; - is stdin")
    parser.add_argument(
        "--strict", action="store_true", help="one bad line, and nothing goes in at all"
    )
    parser.add_argument(
        "--no-embed", action="store_true", help="leave the vectors to a later `recollect reindex`"
    )
    add_redact(parser)
    add_json(parser)


def run(told: argparse.Namespace) -> int:
    with Recollect() as memory, _opened(told.file) as (stream, size):
        with progress("Importing", size, bytes_read=True) as advance:
            done = memory.import_lines(
                read_lines(stream), strict=told.strict, redact=told.redact, progress=advance
            )
        failure = None if told.no_embed else _embed(memory)
        waiting = memory.waiting()
    for number, reason in done.bad:
        print(f"line {number}: {reason}", file=sys.stderr)
    if told.json:
        bad = [{"line": number, "reason": reason} for number, reason in done.bad]
        print_json(
            {"added": done.added, "updated": done.updated, "unchanged": done.unchanged,
             "bad": bad, "waiting": waiting}
            | ({"redacted": dict(done.redacted)} if done.redacted else {})
        )  # fmt: skip
    else:
        _tell(done.added, done.updated, done.unchanged, len(done.bad), waiting, failure)
    tell_redacted(done.redacted)
    return 1 if done.bad else 0


def _embed(memory: Recollect) -> str | None:
    with progress("Embedding", memory.waiting()) as advance:
        return memory.embed_now(advance)


def _tell(
    added: int, updated: int, unchanged: int, bad: int, waiting: int, failure: str | None
) -> None:
    parts = [f"{added:,} added", f"{updated:,} updated", f"{unchanged:,} unchanged"]
    if bad:
        parts.append(counted(bad, "bad line"))
    print(", ".join(parts) + ".")
    if waiting:
        reason = f" ({failure})" if failure else ""
        print(f"{counted(waiting, 'memory')} without a vector yet{reason}; `recollect reindex`.")


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
