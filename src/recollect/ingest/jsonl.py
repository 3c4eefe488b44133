"""Memories as JSON Lines: reading reports every bad line, writing loses nothing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from recollect.errors import UserError
from recollect.ingest.draft import Draft, draft
from recollect.memory_json import memory_json
from recollect.types import Memory


class Line(NamedTuple):
    """One line of the input: a draft, or the reason why there is none."""

    number: int
    draft: Draft | None
    reason: str
    size: int


def read_lines(raw: Iterable[bytes]) -> Iterator[Line]:
    """Each line that is not blank; numbers count from 1."""
    decoder = msgspec.json.Decoder()
    for number, line in enumerate(raw, start=1):
        text = line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line
        if text.strip():
            yield _line(decoder, number, text)


def _line(decoder: msgspec.json.Decoder[object], number: int, text: bytes) -> Line:
    try:
        value = decoder.decode(text)
        if not isinstance(value, dict):
            raise UserError("It is not a JSON object.")
        return Line(number, draft(value), "", len(text))
    except UserError as error:
        return Line(number, None, str(error), len(text))
    except UnicodeDecodeError:
        return Line(number, None, "It is not valid UTF-8 text.", len(text))
    except (msgspec.DecodeError, RecursionError) as error:
        return Line(number, None, f"It is not valid JSON: {error}.", len(text))


def as_line(memory: Memory) -> bytes:
    """A memory as one line, with every field."""
    return msgspec.json.encode(memory_json(memory)) + b"\n"
