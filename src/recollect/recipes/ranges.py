"""The ranges of a recipe's numbers, so that no recipe file can divide by zero or rank by NaN. A
recipe with a value outside is refused when it is loaded. And the number of candidates that a
channel fetches."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=0, le=1_000_000)]
AtLeastOne = Annotated[int, Meta(ge=1, le=1_000_000)]
Share = Annotated[float, Meta(ge=0.0, le=1.0)]
Cosine = Annotated[float, Meta(ge=-1.0, le=1.0)]
# Beyond a thousand, a weight or a factor would only drown every other part of a score.
Weight = Annotated[float, Meta(ge=0.0, le=1000.0)]
# A weight that may also count against.
Number = Annotated[float, Meta(ge=-1000.0, le=1000.0)]
Factor = Annotated[float, Meta(gt=0.0, le=1000.0)]
# A divisor, or a time to fade over: days, hours.
Span = Annotated[float, Meta(gt=0.0, le=1e9)]
# The k of `1/(k + rank)`: ranks count from 1, so that 0 is still safe.
Smoothing = Annotated[float, Meta(ge=0.0, le=1e9)]


class Depth(Struct, frozen=True, forbid_unknown_fields=True):
    """`max(per_result × limit, at_least)`: 3 and 30 is "three times the limit, at least 30"."""

    per_result: Count = 0
    at_least: Count = 0

    def at(self, limit: int) -> int:
        return max(self.per_result * limit, self.at_least)
