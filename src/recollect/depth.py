"""How many candidates a channel fetches, as declared data."""

from __future__ import annotations

from msgspec import Struct

from recollect.recipes.ranges import Count


class Depth(Struct, frozen=True, forbid_unknown_fields=True):
    """`max(per_result × limit, at_least)`: 3 and 30 say "three times the limit, 30 at least"."""

    per_result: Count = 0
    at_least: Count = 0

    def at(self, limit: int) -> int:
        return max(self.per_result * limit, self.at_least)
