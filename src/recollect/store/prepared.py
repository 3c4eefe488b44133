"""The index rows of memories, prepared before a write, in any process and without a vault."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import msgspec

from recollect.index.base import Row
from recollect.store.base import KeywordIndexName


class PackedIndex(NamedTuple):
    """One index of a segment. `documents`: the positions of its memories in the input; `lengths`:
    the number of tokens of each; both as uint32."""

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
        """Pickle as MessagePack: for many small values, pickle takes twice as long."""
        return _received, (msgspec.msgpack.encode(self),)


def _received(sent: bytes) -> PreparedMemories:
    return msgspec.msgpack.decode(sent, type=PreparedMemories)
