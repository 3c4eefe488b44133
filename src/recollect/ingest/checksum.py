"""The checksum beside an export, by which an import tells that the file is cut short or altered.

It is a file of its own, so that the export stays one memory a line. `sha256sum --check` reads it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import ExitStack
from hashlib import file_digest, sha256
from pathlib import Path
from typing import BinaryIO

from recollect.errors import UserError
from recollect.files import locked_folder, opened_regular, remove_leftovers, replacing

ENDING = ".sha256"
LONGEST = 64 * 1024  # of a checksum file; a real one has two short lines
SIZE = re.compile(rb"^# .*?\b(\d+) bytes", re.MULTILINE)
CHECKSUM = re.compile(rb"^\\?([0-9a-fA-F]{64})(?:\s|$)", re.MULTILINE)
WHAT_TO_DO = "Nothing was imported; --no-verify imports it as it is."


def write_export(file: Path, lines: Iterable[bytes]) -> None:
    """Replace the file by these lines, and its checksum by theirs. Several exports to one file at
    once leave one of them, whole."""

    digest, count, size = sha256(), 0, 0
    beside = _beside(file)
    remove_leftovers(file)
    remove_leftovers(beside)
    with ExitStack() as finishing:
        with replacing(file) as stream:
            for line in lines:
                stream.write(line)
                digest.update(line)
                count += 1
                size += len(line)
            stream.flush()
            os.fsync(stream.fileno())  # takes long, so before the lock
            finishing.enter_context(locked_folder(file.parent))
            beside.unlink(missing_ok=True)  # between the two, a killed export leaves no checksum
        with replacing(beside) as stream:
            stream.write(b"# recollect export: %d lines, %d bytes\n" % (count, size))
            stream.write(b"%s  %s\n" % (digest.hexdigest().encode(), os.fsencode(file.name)))


def verify(file: Path, stream: BinaryIO) -> None:
    """UserError where the file has a checksum beside it that is not its own. The stream is the open
    file; it is read to its end and set back to its start. A pipe is not checked."""

    beside = _beside(file)
    if not stream.seekable():
        return
    try:
        checksum = opened_regular(beside)
    except FileNotFoundError:
        return
    except OSError as error:
        raise UserError(f"{beside} cannot be read: {error.strerror}.") from error
    if checksum is None:
        raise UserError(f"{beside} is not a file.")
    with checksum:
        raw = checksum.read(LONGEST)
    stored, size = CHECKSUM.search(raw), SIZE.search(raw)
    if stored is None:
        raise UserError(f"{beside} holds no SHA-256 checksum. {WHAT_TO_DO}")
    actual = file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]  # has readinto
    read = stream.tell()
    stream.seek(0)
    if actual == stored[1].decode().lower():
        return
    if size is not None and read < int(size[1]):
        problem = f"{file} is cut short: {read:,} of {int(size[1]):,} bytes are left."
    else:
        problem = f"{file} was altered after its export: its checksum is not that in {beside}."
    raise UserError(f"{problem} {WHAT_TO_DO}")


def _beside(file: Path) -> Path:
    return file.with_name(file.name + ENDING)
