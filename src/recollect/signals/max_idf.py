"""`max_idf`: how rare the rarest word is that query and memory share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.context import SearchContext
from recollect.signals.base import Signal, SignalValue


class MaxIdf(Signal, frozen=True, tag="max_idf", kw_only=True):
    """The rarity of the rarest keyword of the query in the memory over that of the rarest in the
    vault: 1 where the word that tells most is there, 0 where none is."""

    about = "shares a rare word"
    family = "rarity"

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        query = context.understanding
        known = {
            word: query.rarity(word)
            for word in query.timeless_keywords
            if word in query.frequencies
        }
        largest = max(known.values(), default=0.0)
        if largest <= 0:
            return {}
        # Rarest first: the first word that is there decides.
        order = [word for _, word in sorted((-value, word) for word, value in known.items())]
        found: dict[str, SignalValue] = {}
        for id in ids:
            stems = {stem for _, stem in context.text(id).places}
            word = next((word for word in order if query.stems_of(word) <= stems), None)
            if word is not None:
                found[id] = SignalValue(known[word] / largest, f"rarest shared word: {word}")
        return found
