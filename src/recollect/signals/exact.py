"""`exact`: what the query means literally stands in the memory as it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.context import SearchContext
from recollect.signals.base import Signal, SignalValue


class ExactMatch(Signal, frozen=True, tag="exact", kw_only=True):
    """The share of the query's exact terms that the memory holds, case and accents aside:
    identifiers, versions, paths, quoted phrases, and words that hardly any memory has."""

    about = "holds an exact term"
    family = "literal"

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        terms = context.understanding.exact_terms
        if not terms:
            return {}
        return {id: _value(context.exact_terms(id), len(terms)) for id in ids}


def _value(found: Sequence[str], terms: int) -> SignalValue:
    how = f"holds {len(found)} of {terms} exact terms"
    named = f": {', '.join(found)}" if found else ""
    return SignalValue(len(found) / terms, how + named)
