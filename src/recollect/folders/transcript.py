"""Reading a transcript, in which a coding agent stores a session, line by line.

Each line is a JSON object. Texts of the user and of the agent are turns. Tool calls and results,
reasoning, additions of the client to a prompt, and subagents are left out and counted. The formats
are undocumented, so that lines of unknown types are counted by type. A client's `Transcript` is an
entry point of the group `recollect.transcripts` with the client's name. Cursor and OpenCode use
databases, which are not read.
"""

from __future__ import annotations

import json
import re
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Literal, NamedTuple, cast

import msgspec

from recollect.checks import clean_text
from recollect.entry_points import entry_points_of
from recollect.errors import UserError
from recollect.files import open_regular
from recollect.times import parse_time

GROUP = "recollect.transcripts"
Role = Literal["user", "agent"]
# Bytes. A prompt with several pictures is shorter; a longer line is the result of a tool.
LONGEST_LINE = 16_000_000
PIECE = 1_000_000  # bytes read at once from a longer line
FIRST_LINES = 20  # in which a session names its folder
LONGEST_TYPE = 40  # characters of an unknown type to report
NOT_JSON = "not JSON"
TOO_LONG = f"longer than {LONGEST_LINE // 1_000_000} MB"
EMPTY = "no text"
SUBAGENT = "of a subagent"
INJECTED = "written by the client"
TOOL = "tools and reasoning"
OTHER = "other records"


class Turn(NamedTuple):
    """A text of the user or the agent, from one line of a transcript.

    `line` counts from 1, and `offset` is the number of bytes before it. `folder` is the working
    directory at the beginning of the session; agents change it later. `at` is None, and `folder`
    and `session` are empty, if they are unknown."""

    line: int
    role: Role
    text: str
    at: datetime | None
    folder: str
    session: str
    offset: int = 0


class Position(NamedTuple):
    """A position between two lines: the bytes before it, and the number of the next line."""

    offset: int = 0
    line: int = 1


BEGIN = Position()
Message = tuple[Role, str]


class Transcript(ABC):
    """The turns of one transcript from a position on. A client's subclass interprets its lines.

    While it is read, `skipped` counts the lines without a turn by reason, and `unknown` those of an
    unknown type. `end` is the position after the last complete line; an incomplete line is read
    again later. Reading stops after `most` bytes.
    """

    # The client's folder, in the form of `interfaces.setup.clients`, and the paths of transcripts
    # below it.
    kept_in: ClassVar[str]
    files: ClassVar[re.Pattern[str]]

    def __init__(self, path: Path, start: Position = BEGIN) -> None:
        self.path = path
        self.start = self.end = start
        self.skipped: Counter[str] = Counter()
        self.unknown: Counter[str] = Counter()
        self.session = ""
        self.folder = ""
        self.most = sys.maxsize

    @abstractmethod
    def message(self, record: Mapping[str, Any]) -> Message | None:
        """Return the role and text of a line; for any other line, return `skip` or `skip_unknown`.
        Store the session's id and folder in `session` and `folder`."""

    def skip(self, reason: str) -> Message | None:
        """Count a line by reason; return None."""
        self.skipped[reason] += 1
        return None

    def skip_unknown(self, type: str) -> Message | None:
        """Count a line by its unknown type; return None."""
        self.unknown[type[:LONGEST_TYPE] or "none"] += 1
        return None

    def __iter__(self) -> Iterator[Turn]:
        """Yield the turns in order. Raise OSError if the file cannot be read."""
        stream = open_regular(self.path)
        if stream is None:
            raise OSError(0, "it is not a file")
        with stream:
            if self.start.offset:
                self._read_first(stream)
            stream.seek(self.start.offset)
            yield from self._turns(stream)

    def _read_first(self, stream: BinaryIO) -> None:
        """Read session and folder from the first lines, which were counted before."""
        for _ in range(FIRST_LINES):
            record = _decode(stream.readline(LONGEST_LINE))
            if record is not None:
                self.message(record)
            if self.folder:
                break
        self.skipped.clear()
        self.unknown.clear()

    def _turns(self, stream: BinaryIO) -> Iterator[Turn]:
        while self.end.offset - self.start.offset < self.most and (
            raw := stream.readline(LONGEST_LINE)
        ):
            whole = raw.endswith(b"\n")
            record = _decode(raw)
            size = len(raw)
            if not whole and record is None:
                rest, whole = _rest_of_line(stream) if size == LONGEST_LINE else (0, False)
                if not whole:
                    return
                size += rest
                self.skip(TOO_LONG)
            elif record is None and raw.strip():
                self.skip(NOT_JSON)
            # A closed object is complete even without a line end, which then comes next.
            line = self.end.line
            here, self.end = self.end, Position(self.end.offset + size, line + whole)
            turn = None if record is None else self._turn(record, here)
            if turn is not None:
                yield turn

    def _turn(self, record: Mapping[str, Any], here: Position) -> Turn | None:
        message = self.message(record)
        if message is None:
            return None
        role, text = message[0], clean_text(message[1])
        if not text:
            self.skip(EMPTY)
            return None
        at = moment(record.get("timestamp"))
        return Turn(here.line, role, text, at, self.folder, self.session, here.offset)


def transcript_clients() -> list[str]:
    """Return the names of the clients whose transcripts can be read."""
    return [*entry_points_of(GROUP)]


def transcript_type(client: str) -> type[Transcript]:
    """Return the class that reads the client's transcripts."""
    known = entry_points_of(GROUP)
    if client not in known:
        raise UserError(
            f"The transcripts of {client!r} cannot be read; those of these clients can: "
            f"{', '.join(known)}."
        )
    return cast(type[Transcript], known[client].load())


def turns(path: Path, client: str, start: Position = BEGIN) -> Transcript:
    """Return the turns of a transcript to iterate over; then `skipped`, `unknown` and `end` are
    set."""
    return transcript_type(client)(path, start)


def _decode(raw: bytes) -> dict[str, Any] | None:
    """Return the object in a line, or None."""
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        try:
            # It accepts single surrogates, which JavaScript writes and msgspec refuses.
            value = json.loads(raw) if b"\\u" in raw else None
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def _rest_of_line(stream: BinaryIO) -> tuple[int, bool]:
    """Skip the rest of a line; return its bytes and True if it ends."""
    size = 0
    while raw := stream.readline(PIECE):
        size += len(raw)
        if raw.endswith(b"\n"):
            return size, True
    return size, False


def moment(value: object) -> datetime | None:
    """Return a time, or None if it is not one."""
    try:
        return parse_time(value, "") if isinstance(value, str) else None
    except UserError:
        return None


def texts(content: object, *types: str) -> str:
    """Return a text, or the texts of parts with these types as paragraphs. Without types, parts of
    any type count, except thoughts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    found = (
        part if isinstance(part, str) else part["text"]
        for part in parts
        if isinstance(part, str)
        or (
            isinstance(part, dict)
            and isinstance(part.get("text"), str)
            and (part.get("type") in types if types else not part.get("thought"))
        )
    )
    return "\n\n".join(filter(None, map(str.strip, found)))


def text_of(record: Mapping[str, Any], name: str) -> str:
    """Return the value of this name if it is a text, else an empty text."""
    value = record.get(name)
    return value if isinstance(value, str) else ""


def mapping(value: object) -> Mapping[str, Any]:
    """Return the value if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def without_blocks(text: str, *tags: str) -> str:
    """Return the text without blocks in these tags, such as `<system-reminder>`."""
    for tag in tags:
        start = text.find(f"<{tag}>")
        while start >= 0:
            end = text.find(f"</{tag}>", start)
            text = text[:start] + (text[end + len(tag) + 3 :] if end >= 0 else "")
            start = text.find(f"<{tag}>", start)
    return text
