"""Memories as JSON Lines: reading reports every bad line, writing loses nothing.

A line is a memory; with `forgotten_at`, a forgotten one. A line `{"feedback": {…}}` is feedback.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

import msgspec

from recollect.checks import is_text
from recollect.errors import UserError
from recollect.ingest.draft import Draft, draft
from recollect.memory_json import memory_json
from recollect.store.base import FeedbackEvent, Stored
from recollect.times import iso, parse_time
from recollect.types import Memory

DECODER: msgspec.json.Decoder[object] = msgspec.json.Decoder()


class Line(NamedTuple):
    """One line of the input: a draft, or feedback, or the reason why there is neither.
    `forgotten_at`: when the draft's memory was forgotten."""

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
    """Each line that is not blank; numbers count from 1."""
    for number, line in enumerate(raw, start=1):
        text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        if text.strip():
            yield RawLine(number, text)


def read_lines(raw: Iterable[bytes]) -> Iterator[Line]:
    """Each line that is not blank, parsed."""
    return map(parsed, raw_lines(raw))


def parsed(raw: RawLine | Line) -> Line:
    """What a line holds."""
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
            return Line(number, draft(value), "", len(text))
        if not (isinstance(forgotten_at, str) and value.get("id")):
            raise UserError("A forgotten memory needs its id, and forgotten_at must be a time.")
        at = parse_time(forgotten_at, "forgotten_at")
        return Line(number, draft(value), "", len(text), at)
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
