"""`exact`: what the query means literally stands in the memory as it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.context import SearchContext
from recollect.signals.base import Signal, SignalValue


class ExactMatch(Signal, frozen=True, tag="exact", kw_only=True):
    """The share of the query's names that the memory holds as they are written, case and accents
    aside: identifiers, versions, paths, quoted phrases."""

    about = "holds an exact term"
    family = "literal"

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        names = context.understanding.names
        if not names:
            return {}
        held = {id: [term for term in context.exact_terms(id) if term in names] for id in ids}
        return {id: _value(terms, len(names)) for id, terms in held.items()}


def _value(found: Sequence[str], terms: int) -> SignalValue:
    how = f"holds {len(found)} of {terms} exact terms"
    named = f": {', '.join(found)}" if found else ""
    return SignalValue(len(found) / terms, how + named)
