"""What is made of memories before they are written, in any process; it needs no vault."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from recollect.index.base import Row
from recollect.store.base import KeywordIndexName


class PackedIndex(NamedTuple):
    """One index of a segment. `documents`: which of the packed memories it holds, by their place in
    the input, and `lengths`: the tokens of each, both as uint32."""

    documents: bytes
    lengths: bytes
    rows: list[Row]


Packed = Mapping[KeywordIndexName, PackedIndex]


class PreparedMemories(NamedTuple):
    """The ids of memories, their keyword indexes, and how many of them hold each TF-IDF token."""

    ids: list[str]
    indexes: Packed
    vocabulary: Mapping[str, int]

    def __reduce__(self) -> tuple[Callable[[bytes], PreparedMemories], tuple[bytes]]:
        """As MessagePack between processes: pickle takes twice as long for so many small values."""
        return _received, (msgspec.msgpack.encode(self),)


def _received(sent: bytes) -> PreparedMemories:
    return msgspec.msgpack.decode(sent, type=PreparedMemories)
