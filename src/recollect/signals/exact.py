"""`exact`: what the query means literally stands in the memory as it is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.context import MemoryText, SearchContext
from recollect.query.exact import holds
from recollect.query.subwords import joined
from recollect.signals.base import Signal, SignalValue


def exact_terms_in(text: MemoryText, terms: Sequence[str]) -> list[str]:
    """Those of the terms that a memory holds."""
    return [term for term in terms if holds(text.folded, term) or same_name(text, term)]


def same_name(text: MemoryText, term: str) -> bool:
    """Whether the memory has the identifier in another spelling."""
    name = joined(term)
    return bool(name) and name in text.subwords


class ExactMatch(Signal, frozen=True, tag="exact", kw_only=True):
    """The share of the query's exact terms that the memory holds, case and accents aside:
    identifiers, versions, paths, quoted phrases, and words that hardly any memory has."""

    about = "holds an exact term"
    family = "literal"

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        terms = context.understanding.exact_terms
        if not terms:
            return {}
        return {id: self._value(context.text(id), terms) for id in ids}

    def _value(self, text: MemoryText, terms: Sequence[str]) -> SignalValue:
        found = exact_terms_in(text, terms)
        how = f"holds {len(found)} of {len(terms)} exact terms"
        named = f": {', '.join(found)}" if found else ""
        return SignalValue(len(found) / len(terms), how + named)
