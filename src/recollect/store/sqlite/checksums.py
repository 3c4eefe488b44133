"""Checksums of memories, which reveal damage that SQLite cannot see: flipped bits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import islice
from operator import itemgetter
from typing import Any, Literal, NamedTuple
from zlib import crc32

import apsw
import msgspec

from recollect.hashing import bytes_digest
from recollect.store.memory_rows import COLUMNS, SAME_CONTENT, content_hash
from recollect.types import TIMES

FIELDS = ("key", *COLUMNS, *TIMES, "forgotten_at")  # the first half of a checksum covers these
WIDTH = len(FIELDS)
RAW_TAGS, CONTENT_HASH, CHECKSUM = WIDTH, WIDTH + 1, WIDTH + 2  # after them in RAW
SUPERSEDED, ARCHIVED = FIELDS.index("superseded_by"), FIELDS.index("archived_at")
STEP = 1_000  # memories between two reports of progress
HALF = 8  # bytes: enough to notice damage; it resists no attacker
TAGS = """(SELECT json_group_array(t.name ORDER BY mt.position)
          FROM memory_tags mt JOIN tags t ON t.key = mt.tag WHERE mt.memory = m.key)"""
# As bytes: a damaged text may not be valid UTF-8.
_BYTES = [f"CAST(m.{name} AS BLOB)" if name in COLUMNS else f"m.{name}" for name in FIELDS]
_READ = [*_BYTES, f"CAST({TAGS} AS BLOB)", "m.content_hash", "m.checksum"]
RAW = f"SELECT {', '.join(_READ)} FROM memories m"
MASK = (1 << 62) - 1  # sums of checksums stay within SQLite's integers
_CONTENT = [FIELDS.index(field) for field in SAME_CONTENT]
_content = itemgetter(*_CONTENT)
_ordinary = itemgetter(*(at for at in range(WIDTH) if at not in (SUPERSEDED, ARCHIVED)))


RawMemory = tuple[Any, ...]  # a row of RAW


class AlteredMemory(NamedTuple):
    """A memory that is not what was written: its row (`fields`), or only its tags, or only the hash
    of its content, which can be made again."""

    key: int
    id: str
    what: Literal["fields", "tags", "hash"]


def checksum(fields: Sequence[apsw.SQLiteValue], tags: Sequence[str]) -> bytes:
    """Return the checksum of a memory: half for the columns of its row, named in FIELDS, and half
    for its tags, so that the row can be judged if the tags are lost."""
    return row_half(fields) + tags_half(tags)


def display_id(key: object, id: object) -> str:
    """Return the memory's id, or its row number if damage has left no printable id."""
    shown = id.decode(errors="replace") if isinstance(id, bytes) else id
    return shown if isinstance(shown, str) and shown and shown.isprintable() else f"row {key}"


def row_half(fields: Sequence[apsw.SQLiteValue]) -> bytes:
    """Return the half for the columns; texts may be given as their bytes."""
    return _digest([field.encode() if isinstance(field, str) else field for field in fields])


def _digest(raw: Sequence[Any]) -> bytes:
    """Return the digest of the columns, with which a row begins. Those of version 8 count only if
    they are set: other memories keep the checksum that they had before."""
    counted = raw[:WIDTH] if raw[SUPERSEDED] or raw[ARCHIVED] is not None else _ordinary(raw)
    return bytes_digest(msgspec.msgpack.encode(counted), HALF)


def tags_half(tags: Sequence[str]) -> bytes:
    return _known_half(tuple(tags))


@lru_cache(1024)  # most memories have the tags of others
def _known_half(tags: tuple[str, ...]) -> bytes:
    return bytes_digest(msgspec.msgpack.encode(tags), HALF)


def table_checksum(counts: Iterable[tuple[str, int]]) -> int:
    """Return the checksum of the vocabulary: a sum, so that a write adds its own changes to it."""
    return sum(documents * crc32(token.encode()) for token, documents in counts) & MASK


def fill(connection: apsw.Connection) -> None:
    """Give every memory of a vault before version 5 its checksum, except those whose text does not
    match its hash: they stay without one, and the doctor names them."""
    signed = [
        (row_half(row[:WIDTH]) + tags_half(msgspec.json.decode(row[WIDTH])), row[0])
        for row in connection.execute(f"{RAW} WHERE m.checksum = x''")
        if _content_of(row) == row[WIDTH + 1]
    ]
    connection.executemany("UPDATE memories SET checksum = ? WHERE key = ?", signed)


def find_altered(
    connection: apsw.Connection,
    among: Sequence[int] | None = None,
    advance: Callable[[int], None] = lambda done: None,
) -> Iterator[AlteredMemory]:
    """Yield every memory, forgotten or not, that is not what was written; or only `among` keys."""
    half_of = cache(_half_of)  # most memories have the tags of others
    chosen = "" if among is None else f" WHERE m.key IN ({', '.join(map(str, among))})"
    found: Iterator[RawMemory] = iter(connection.execute(RAW + chosen))
    while rows := [*islice(found, STEP)]:
        for row in rows:
            stored = row[CHECKSUM] or b""
            what: Literal["fields", "tags", "hash"] = "hash"
            if _digest(row) != stored[:HALF]:
                what = "fields"
            elif half_of(row[RAW_TAGS]) != stored[HALF:]:
                what = "tags"
            elif _content_of(row) == row[CONTENT_HASH]:
                continue
            yield AlteredMemory(row[0], display_id(row[0], row[1]), what)
        if len(rows) == STEP:
            advance(STEP)


def accept_altered(
    connection: apsw.Connection, memories: Iterable[AlteredMemory], now: int
) -> None:
    """Give these memories the checksum of their current state. First forget those whose row is not
    what was written, so that no search takes them for right."""
    for key, _, what in memories:
        row: Sequence[Any] = connection.execute(f"{RAW} WHERE m.key = ?", (key,)).fetchall()[0]
        fields = [
            field.decode(errors="replace") if isinstance(field, bytes) else field
            for field in row[:WIDTH]
        ]
        if what == "fields" and fields[-1] is None:
            fields[-1] = now
        tags = msgspec.json.decode(row[WIDTH].decode(errors="replace"))
        content = content_hash([str(fields[place]) for place in _CONTENT])
        columns = ", ".join(f"{name} = ?" for name in FIELDS[1:])
        connection.execute(
            f"UPDATE memories SET {columns}, content_hash = ?, checksum = ? WHERE key = ?",
            (*fields[1:], content, checksum(fields, tags), key),
        )


def _half_of(tags: bytes) -> bytes:
    try:
        return bytes_digest(msgspec.msgpack.encode(msgspec.json.decode(tags)), HALF)
    except ValueError:  # not even valid JSON
        return b""


def _content_of(row: Sequence[Any]) -> bytes:
    return bytes_digest(b"\0".join(_content(row)), 16)
