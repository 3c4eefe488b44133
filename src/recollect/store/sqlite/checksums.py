"""Checksums of memories, by which damage that SQLite cannot see is noticed: flipped bits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import apsw
import msgspec

from recollect.hashing import bytes_digest, content_digest

TEXTS = (
    "id", "title", "text", "context", "why", "impact", "details", "kind", "severity", "domain",
    "project", "source", "tier", "space", "path",
)  # fmt: skip
TIMES = ("created_at", "updated_at", "valid_from", "valid_until")
FIELDS = ("key", *TEXTS, *TIMES, "forgotten_at")  # what the first half of a checksum covers
SAME_CONTENT = ("title", "text", "context", "why", "impact", "details", "kind")
HALF = 8  # bytes: it is there to notice damage, not to resist anybody
TAGS = """(SELECT json_group_array(t.name ORDER BY mt.position)
          FROM memory_tags mt JOIN tags t ON t.key = mt.tag WHERE mt.memory = m.key)"""
EVERY = f"SELECT {', '.join('m.' + field for field in FIELDS)}, {TAGS}"
_content = [FIELDS.index(field) for field in SAME_CONTENT]


class Differing(NamedTuple):
    """A memory that is not what was written: its row (`fields`), or only its tags, or only the
    hash of its content, which can be made again."""

    key: int
    id: str
    what: str


def checksum(fields: Sequence[apsw.SQLiteValue], tags: Sequence[str]) -> bytes:
    """The checksum of a memory: a half for the columns of its row, named in FIELDS, and one for its
    tags, so that the row can be judged where the tags are lost."""
    return row_half(fields) + tags_half(tags)


def row_half(fields: Sequence[apsw.SQLiteValue]) -> bytes:
    return bytes_digest(msgspec.msgpack.encode(fields), HALF)


def tags_half(tags: Sequence[str]) -> bytes:
    return bytes_digest(msgspec.msgpack.encode(tags), HALF)


def content_hash(texts: Sequence[str]) -> bytes:
    """A hash of the fields SAME_CONTENT: equal for two memories that say the same, in any vault."""
    return content_digest("\0".join(texts), 16)


def fill(connection: apsw.Connection) -> None:
    """Give every memory its checksum."""
    rows = [
        (checksum(fields, msgspec.json.decode(tags)), fields[0])
        for *fields, tags in connection.execute(f"{EVERY} FROM memories m")
    ]
    connection.executemany("UPDATE memories SET checksum = ? WHERE key = ?", rows)


def differing(connection: apsw.Connection) -> Iterator[Differing]:
    """Every memory, forgotten ones included, that is not what was written."""
    width = len(FIELDS)
    halves: dict[str, bytes] = {}  # most memories have the tags of others
    for row in connection.execute(f"{EVERY}, m.content_hash, m.checksum FROM memories m"):
        fields, (tags, content, stored) = row[:width], row[width:]
        if tags not in halves:
            halves[tags] = tags_half(msgspec.json.decode(tags))
        if row_half(fields) != stored[:HALF]:
            yield Differing(row[0], row[1], "fields")
        elif halves[tags] != stored[HALF:]:
            yield Differing(row[0], row[1], "tags")
        elif content_hash([row[place] for place in _content]) != content:
            yield Differing(row[0], row[1], "hash")
