"""No fusion: everything the channels found, for a stage that scores it afresh."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from recollect.context import SearchContext
from recollect.types import Hit, Ranking, leaf, ranked


class Union(Struct, frozen=True, tag="union", forbid_unknown_fields=True):
    """Each memory once, unscored."""

    gives: ClassVar[tuple[str, ...]] = ()

    channels: tuple[str, ...]

    def fuse(self, context: SearchContext) -> Ranking:
        found = {hit.memory_id for name in self.channels for hit in context.channels.get(name, ())}
        return ranked(Hit(id, leaf("candidate", 0.0, "not scored yet")) for id in found)
