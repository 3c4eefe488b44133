"""`exact`: what the query means literally stands in the memory as it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.context import Reading, SearchContext
from recollect.query.exact import holds
from recollect.query.subwords import joined
from recollect.signals.base import Signal, Value


def held(read: Reading, things: Sequence[str]) -> list[str]:
    """Those of the things that a memory holds."""
    return [thing for thing in things if holds(read.folded, thing) or same_name(read, thing)]


def same_name(read: Reading, thing: str) -> bool:
    """Whether the memory has the identifier in another spelling."""
    name = joined(thing)
    return bool(name) and name in read.parts


class Exact(Signal, frozen=True, tag="exact", kw_only=True):
    """The share of the query's exact things that the memory holds, case and accents aside:
    identifiers, versions, paths, quoted phrases, and words that hardly any memory has."""

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, Value]:
        things = context.exactly
        if not things:
            return {}
        return {id: self._value(context.reading(id), things) for id in ids}

    def _value(self, read: Reading, things: Sequence[str]) -> Value:
        found = held(read, things)
        how = f"holds {len(found)} of {len(things)} exact terms"
        return Value(len(found) / len(things), how + (f": {', '.join(found)}" if found else ""))
