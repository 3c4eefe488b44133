"""Memories as JSON Lines: reading reports every bad line, writing loses nothing.

A line is a memory; with `forgotten_at`, a forgotten one. A line `{"feedback": {…}}` is feedback.
An export's checksum tells an import whether the file was cut short or altered. It is a file of its
own, so that the export has only one memory a line. `sha256sum --check` reads it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import datetime
from hashlib import file_digest, sha256
from pathlib import Path
from typing import BinaryIO, NamedTuple

import msgspec

from recollect.checks import is_text
from recollect.errors import UserError
from recollect.files import locked_folder, opened_regular, remove_leftovers, replacing
from recollect.ingest.draft import Draft, make_draft
from recollect.memory_json import memory_json
from recollect.store.base import FeedbackEvent, Stored
from recollect.times import iso, parse_time
from recollect.types import Memory

DECODER: msgspec.json.Decoder[object] = msgspec.json.Decoder()
ENDING = ".sha256"  # the checksum file's suffix
LONGEST = 64 * 1024  # bytes read of a checksum file; a real one has two short lines
SIZE = re.compile(rb"^# .*?\b(\d+) bytes", re.MULTILINE)
CHECKSUM = re.compile(rb"^\\?([0-9a-fA-F]{64})(?:\s|$)", re.MULTILINE)
WHAT_TO_DO = "Nothing was imported; --no-verify imports it as it is."


class Line(NamedTuple):
    """One line of the input: a draft, or feedback, or the reason why it is bad. `forgotten_at`:
    when the draft's memory was forgotten."""

    number: int
    make_draft: Draft | None
    reason: str
    size: int
    forgotten_at: datetime | None = None
    feedback: FeedbackEvent | None = None


class RawLine(NamedTuple):
    """One line of the input as it was read."""

    number: int
    text: bytes


def raw_lines(raw: Iterable[bytes]) -> Iterator[RawLine]:
    """Yield each line that is not blank, numbered from 1."""
    for number, line in enumerate(raw, start=1):
        text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        if text.strip():
            yield RawLine(number, text)


def parse_line(raw: RawLine | Line) -> Line:
    """Parse a line; a bad one has its reason."""
    if isinstance(raw, Line):
        return raw
    number, text = raw
    try:
        value = DECODER.decode(text)
        if not isinstance(value, dict):
            raise UserError("It is not a JSON object.")
        if "feedback" in value:
            return Line(number, None, "", len(text), feedback=_feedback(value))
        forgotten_at = value.pop("forgotten_at", None)
        if forgotten_at is None:
            return Line(number, make_draft(value), "", len(text))
        if not (isinstance(forgotten_at, str) and value.get("id")):
            raise UserError("A forgotten memory needs its id, and forgotten_at must be a time.")
        at = parse_time(forgotten_at, "forgotten_at")
        return Line(number, make_draft(value), "", len(text), at)
    except UserError as error:
        return Line(number, None, str(error), len(text))
    except UnicodeDecodeError:
        return Line(number, None, "It is not valid UTF-8 text.", len(text))
    except (msgspec.DecodeError, RecursionError) as error:
        return Line(number, None, f"It is not valid JSON: {error}.", len(text))


def _feedback(line: dict[str, object]) -> FeedbackEvent:
    match line:
        case {"feedback": {"query": str(query), "id": str(id), "accepted": bool(accepted),
                           "at": str(at)}} if len(line) == 1:  # fmt: skip
            if query.strip() and is_text(query + id) and "\0" not in query + id:
                return FeedbackEvent(query, id, accepted, parse_time(at, "at"))
    raise UserError("Feedback must have a query, an id, accepted (true or false) and at.")


def as_line(memory: Memory) -> bytes:
    """A memory as one line, with every field."""
    return msgspec.json.encode(memory_json(memory)) + b"\n"


def stored_line(item: Stored | FeedbackEvent) -> bytes:
    """A memory, live or forgotten, or feedback as one line."""
    if isinstance(item, Stored):
        forgotten_at = item.forgotten_at
        forgotten = {} if forgotten_at is None else {"forgotten_at": iso(forgotten_at)}
        return msgspec.json.encode(memory_json(item.memory) | forgotten) + b"\n"
    query, id, accepted, at = item
    fields = {"query": query, "id": id, "accepted": accepted, "at": iso(at)}
    return msgspec.json.encode({"feedback": fields}) + b"\n"


def write_export(file: Path, lines: Iterable[bytes]) -> None:
    """Replace the file and its checksum. Of several simultaneous exports to one file, one remains,
    whole."""

    digest, count, size = sha256(), 0, 0
    beside = _checksum_file(file)
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
            beside.unlink(missing_ok=True)  # so an export that is killed now leaves no checksum
        with replacing(beside) as stream:
            stream.write(b"# recollect export: %d lines, %d bytes\n" % (count, size))
            stream.write(b"%s  %s\n" % (digest.hexdigest().encode(), os.fsencode(file.name)))


def verify(file: Path, stream: BinaryIO) -> None:
    """Raise UserError if the file has a checksum that does not match. `stream` is the open file; it
    is read and set back to its start. A pipe is not checked."""

    beside = _checksum_file(file)
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


def _checksum_file(file: Path) -> Path:
    return file.with_name(file.name + ENDING)
