"""Reading a transcript, the file in which a coding agent keeps a session, line by line.

Each line has a JSON object. What the user typed and what the agent wrote are turns. Tool calls and
their results, reasoning, what a client adds to a prompt, and what subagents say are left out and
counted. No client promises its format: lines of an unknown type are counted by that type.
A client's own `Transcript` is an entry point of the group `recollect.transcripts`, named after the
client. Cursor and OpenCode keep theirs in databases, which are not read.
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
from recollect.files import opened_regular
from recollect.times import parse_time

GROUP = "recollect.transcripts"
Role = Literal["user", "agent"]
# A prompt with several pictures has less; a longer line is the result of a tool.
LONGEST_LINE = 16_000_000
# What the rest of a longer line is read in.
PIECE = 1_000_000
# Within so many lines a session has told where it works.
FIRST_LINES = 20
# As much of an unknown type as a person needs to see.
LONGEST_TYPE = 40
NOT_JSON = "not JSON"
TOO_LONG = f"longer than {LONGEST_LINE // 1_000_000} MB"
EMPTY = "no text"
SUBAGENT = "of a subagent"
INJECTED = "written by the client"
TOOL = "tools and reasoning"
OTHER = "other records"


class Turn(NamedTuple):
    """What the user typed, or what the agent wrote, as one line of a transcript has it.

    `line` counts from 1, and `offset` is the number of bytes before it. `folder` is the working
    directory in which the session began: agents change it as they work. `at` is None, and `folder`
    and `session` are empty where the transcript does not tell.
    """

    line: int
    role: Role
    text: str
    at: datetime | None
    folder: str
    session: str
    offset: int = 0


class Position(NamedTuple):
    """A place between two lines: so many bytes before it, and the number of the line after it."""

    offset: int = 0
    line: int = 1


BEGIN = Position()
Message = tuple[Role, str]


class Transcript(ABC):
    """The turns of one transcript from a position on. A client's own class says what a line means.

    After (and while) it was read, `skipped` counts the lines without a turn by reason, and
    `unknown` those of a type that this version does not know. `end` is the position after the last
    whole line. A line that is cut off waits there for its rest. Once `most` bytes were read no
    further line is.
    """

    # The client's folder, as `interfaces.setup.clients` writes paths, and which paths below it are
    # transcripts.
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
        """Who says what in a line; None where it is no turn, which `skip` or `skip_unknown` counts.
        What a line says of the session is kept in `session` and `folder`."""

    def skip(self, reason: str) -> Message | None:
        """None, counted."""
        self.skipped[reason] += 1
        return None

    def skip_unknown(self, type: str) -> Message | None:
        """None, counted by that type."""
        self.unknown[type[:LONGEST_TYPE] or "none"] += 1
        return None

    def __iter__(self) -> Iterator[Turn]:
        """The turns in order. Raises OSError where the file cannot be read."""
        stream = opened_regular(self.path)
        if stream is None:
            raise OSError(0, "it is not a file")
        with stream:
            if self.start.offset:
                self._read_first(stream)
            stream.seek(self.start.offset)
            yield from self._turns(stream)

    def _read_first(self, stream: BinaryIO) -> None:
        """Learn what the first lines say of the session; they were counted when they were first
        read."""
        for _ in range(FIRST_LINES):
            record = _decoded(stream.readline(LONGEST_LINE))
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
            record = _decoded(raw)
            size = len(raw)
            if not whole and record is None:
                rest, whole = _rest_of_line(stream) if size == LONGEST_LINE else (0, False)
                if not whole:
                    return
                size += rest
                self.skip(TOO_LONG)
            elif record is None and raw.strip():
                self.skip(NOT_JSON)
            # An object that is closed is whole. Its line ends later: what comes is not the next.
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
    """Return the turns of a transcript, to iterate over; its `skipped`, `unknown` and `end` are
    known afterwards."""
    return transcript_type(client)(path, start)


def _decoded(raw: bytes) -> dict[str, Any] | None:
    """The object of a line, or None."""
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        try:
            # It reads half of a pair of surrogates, which JavaScript writes and msgspec refuses.
            value = json.loads(raw) if b"\\u" in raw else None
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def _rest_of_line(stream: BinaryIO) -> tuple[int, bool]:
    """The bytes up to the end of the line, and whether it ends."""
    size = 0
    while raw := stream.readline(PIECE):
        size += len(raw)
        if raw.endswith(b"\n"):
            return size, True
    return size, False


def moment(value: object) -> datetime | None:
    """The time, or None for what is none."""
    try:
        return parse_time(value, "") if isinstance(value, str) else None
    except UserError:
        return None


def texts(content: object, *types: str) -> str:
    """A text, or the texts of the parts of these types, as paragraphs; a part without a type counts
    where no types are given."""
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
    """The value of that name where it is a text; else empty."""
    value = record.get(name)
    return value if isinstance(value, str) else ""


def mapping(value: object) -> Mapping[str, Any]:
    """The value if it is an object; else an empty one."""
    return value if isinstance(value, dict) else {}


def without_blocks(text: str, *tags: str) -> str:
    """The text without what stands between these tags, such as `<system-reminder>`."""
    for tag in tags:
        start = text.find(f"<{tag}>")
        while start >= 0:
            end = text.find(f"</{tag}>", start)
            text = text[:start] + (text[end + len(tag) + 3 :] if end >= 0 else "")
            start = text.find(f"<{tag}>", start)
    return text
