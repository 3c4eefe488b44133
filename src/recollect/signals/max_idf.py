"""`rarest`: how rare the rarest word is that query and memory share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log

from recollect.context import SearchContext
from recollect.query.terms import keywords
from recollect.signals.base import Signal, Value


def rarity(documents: int, holding: int) -> float:
    """`ln(1 + (N − n + ½) / (n + ½))`, the inverse document frequency of BM25 as Lucene has it:
    never below 0."""
    return log(1 + (documents - holding + 0.5) / (holding + 0.5))


class MaxIdf(Signal, frozen=True, tag="max_idf", kw_only=True):
    """The rarity of the rarest keyword of the query in the memory over that of the rarest in the
    vault: 1 where the word that tells most is there, 0 where none is."""

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, Value]:
        words = list(dict.fromkeys(keywords(context.timeless)))
        counts = context.store.vocabulary.frequencies(words)
        documents = context.store.vocabulary.documents()
        known = {word: rarity(documents, counts[word]) for word in words if word in counts}
        largest = max(known.values(), default=0.0)
        if largest <= 0:
            return {}
        stems = {word: frozenset(context.store.keyword.tokens(word)) for word in known}
        # Rarest first: the first word that is there decides.
        order = [word for _, word in sorted((-value, word) for word, value in known.items())]
        found: dict[str, Value] = {}
        for id in ids:
            held = context.reading(id).stem_set
            word = next((word for word in order if stems[word] <= held), None)
            if word is not None:
                found[id] = Value(known[word] / largest, f"rarest shared word: {word}")
        return found
