"""pgvector's type `vector` as numpy has it, in the form in which the server sends and takes it: the
number of dimensions, two bytes for nothing, then float32, all big-endian."""

from __future__ import annotations

from collections.abc import Sequence
from struct import pack
from typing import TYPE_CHECKING

import numpy as np
import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format

if TYPE_CHECKING:
    from recollect.store.base import Vector

HEAD = 4  # bytes


class VectorValue(bytes):
    """A vector on its way to the server."""


class _Sent(Dumper):
    format = Format.BINARY  # without a type: the server knows which one the place is for

    def dump(self, obj: VectorValue) -> bytes:
        return bytes(obj)


psycopg.adapters.register_dumper(VectorValue, _Sent)


def as_value(vector: Vector) -> VectorValue:
    return VectorValue(pack(">HH", len(vector), 0) + vector.astype(">f4").tobytes())


def as_rows(sent: Sequence[bytes]) -> Vector:
    """Vectors of one model as rows."""
    if not sent:
        return np.empty((0, 0), np.float32)
    joined = np.frombuffer(b"".join(sent), np.uint8).reshape(len(sent), -1)
    return joined[:, HEAD:].copy().view(">f4").astype(np.float32)
