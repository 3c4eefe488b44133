"""`recollect export`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from recollect.engine import Recollect
from recollect.errors import UserError
from recollect.ingest.jsonl import as_line
from recollect.interfaces.cli.output import counted

EXAMPLE = "  recollect export backup.jsonl\n  recollect export | gzip > backup.jsonl.gz"


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", nargs="?", help="where to (default: stdout)")


def run(told: argparse.Namespace) -> int:
    with Recollect() as memory:
        if told.file is None:
            sys.stdout.buffer.writelines(as_line(one) for one in memory.export())
            return 0
        count = _written(memory, Path(told.file))
    print(f"{counted(count, 'memory')} written to {told.file}.", file=sys.stderr)
    return 0


def _written(memory: Recollect, file: Path) -> int:
    """Written beside the file first, so that an older export is never half overwritten."""
    beside = file.with_name(file.name + ".part")
    count = 0
    try:
        with beside.open("wb") as stream:
            for one in memory.export():
                stream.write(as_line(one))
                count += 1
            stream.flush()
            os.fsync(stream.fileno())
        beside.replace(file)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise UserError(f"{file} cannot be written: {error.strerror}.") from error
    return count
