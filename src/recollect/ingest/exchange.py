"""Memories as JSON Lines, and importers of other tools' memories.

A line is a memory; with `forgotten_at`, a forgotten one. A line `{"feedback": {…}}` is feedback.
An export's checksum tells an import whether the file was cut short or altered. It is a file of its
own, so that the export has only one memory a line. `sha256sum --check` reads it.

Importers are entry points of the group `recollect.importers`, named after their tools.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from datetime import datetime
from hashlib import file_digest, sha256
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

import msgspec

from recollect.checks import is_text
from recollect.entry_points import entry_points_of
from recollect.errors import UserError
from recollect.files import locked_folder, open_regular, remove_leftovers, replace_file
from recollect.ingest.draft import Draft, make_draft
from recollect.memory_json import memory_json
from recollect.store.base import Stored
from recollect.store.feedback import FeedbackEvent
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
    draft: Draft | None
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
    """Return a memory as one line, with every field."""
    return msgspec.json.encode(memory_json(memory)) + b"\n"


def stored_line(item: Stored | FeedbackEvent) -> bytes:
    """Return a memory, live or forgotten, or feedback as one line."""
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
        with replace_file(file) as (_, stream):
            for line in lines:
                stream.write(line)
                digest.update(line)
                count += 1
                size += len(line)
            stream.flush()
            os.fsync(stream.fileno())  # takes long, so before the lock
            finishing.enter_context(locked_folder(file.parent))
            beside.unlink(missing_ok=True)  # so an export that is killed now leaves no checksum
        with replace_file(beside) as (_, stream):
            stream.write(b"# recollect export: %d lines, %d bytes\n" % (count, size))
            stream.write(b"%s  %s\n" % (digest.hexdigest().encode(), os.fsencode(file.name)))


def verify(file: Path, stream: BinaryIO) -> None:
    """Raise UserError if the file has a checksum that does not match. `stream` is the open file; it
    is read and set back to its start. A pipe is not checked."""

    beside = _checksum_file(file)
    if not stream.seekable():
        return
    try:
        checksum = open_regular(beside)
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


GROUP = "recollect.importers"
USUAL = re.compile(r"\((~/[^)]+)\)")  # the usual folder in an importer's `path`


class ImportedRecord(NamedTuple):
    """One record of another tool.

    - `where`: its place, for a person (`notes/a.md`, `observations, row 12`).
    - `fields`: those of a memory, or None if the record cannot be imported. The id is the same each
      time the record is read, so that a repeated import updates.
    - `reason`: why it cannot be imported, in one sentence.
    - `unmapped`: the other tool's names of non-empty values that fit no field of a memory.
    """

    where: str
    fields: Mapping[str, object] | None
    reason: str = ""
    unmapped: tuple[str, ...] = ()


def refuse_record(where: str, reason: str) -> ImportedRecord:
    """Return a record that cannot be imported, with the reason."""
    return ImportedRecord(where, None, reason)


class Importer(NamedTuple):
    """An importer for one tool. `path`: what to give as PATH, in words; `source`: where its format
    is documented; `read`: yields the records, or raises `UserError` if PATH is not the tool's."""

    name: str
    path: str
    source: str
    read: Callable[[Path], Iterator[ImportedRecord]]


def list_tools() -> list[str]:
    """Return the names of the tools that memories can be imported from."""
    return [*entry_points_of(GROUP)]


def load_importer(name: str) -> Importer:
    """Load the importer for a tool; raise UserError if there is none."""
    known = entry_points_of(GROUP)
    if name not in known:
        raise UserError(f"There is no importer for {name!r}; there are: {', '.join(known)}.")
    return cast(Importer, known[name].load())


def detect_tools(home: Path) -> list[tuple[str, str]]:
    """Return the tools whose usual folder exists below `home`, each with that folder."""
    found = ((name, USUAL.search(load_importer(name).path)) for name in list_tools())
    return [(name, usual[1]) for name, usual in found if usual and (home / usual[1][2:]).exists()]


class ForeignMemories:
    """The records of another tool as lines to import; a bad one has its reason.

    `where` maps a record's number to its place; `unmapped` counts the values that fit no field of a
    memory.
    """

    def __init__(self, tool: Importer, path: Path) -> None:
        self._tool = tool
        self._path = path
        self.where: dict[int, str] = {}
        self.unmapped: Counter[str] = Counter()

    def __iter__(self) -> Iterator[Line]:
        for number, record in enumerate(self._tool.read(self._path), start=1):
            self.where[number] = record.where
            self.unmapped.update(record.unmapped)
            if record.fields is None:
                yield Line(number, None, record.reason, 1)
                continue
            try:
                yield Line(number, make_draft(record.fields), "", 1)
            except UserError as error:
                yield Line(number, None, str(error), 1)
