"""`exact`: what the query means literally stands in the memory as it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.at import At
from recollect.query.exact import holds
from recollect.signals.base import Signal, Value


class Exact(Signal, frozen=True, tag="exact", kw_only=True):
    """The share of the query's exact things that the memory holds, case and accents aside:
    identifiers, versions, paths, quoted phrases, and words that hardly any memory has."""

    def values(self, at: At, ids: Sequence[str]) -> Mapping[str, Value]:
        things = at.exactly
        if not things:
            return {}
        return {id: self._value(at.reading(id).folded, things) for id in ids}

    def _value(self, text: str, things: Sequence[str]) -> Value:
        found = [thing for thing in things if holds(text, thing)]
        how = f"holds {len(found)} of {len(things)} exact terms"
        return Value(len(found) / len(things), how + (f": {', '.join(found)}" if found else ""))
