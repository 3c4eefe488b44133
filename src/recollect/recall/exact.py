"""The exact channel: what a query means literally always enters the pool."""

from __future__ import annotations

from msgspec import Struct

from recollect.context import SearchContext
from recollect.query import fts5
from recollect.query.exact import is_unspaced
from recollect.query.subwords import pairs
from recollect.query.terms import words
from recollect.recipes.ranges import AtLeastOne
from recollect.store.base import COLUMNS, KeywordIndexName
from recollect.types import Hit, Ranking, leaf, ranked


class Exact(Struct, frozen=True, tag="exact", forbid_unknown_fields=True):
    """The best `each` memories for each exact thing by itself, its words one behind the other: the
    other words of the query cannot crowd them out. A memory counts by how many things it has. A
    word that more than `common` memories have is not rare, and is left to the keywords."""

    each: AtLeastOne = 20
    common: AtLeastOne = 100
    name: str = "exact"

    def wanted(self, context: SearchContext) -> bool:
        return True

    def recall(self, context: SearchContext) -> Ranking:
        found: dict[str, list[str]] = {}
        for thing in context.exactly:
            if self._is_common(thing, context):
                continue
            for id in self._holding(thing, context):
                found.setdefault(id, []).append(thing)
        return ranked(
            Hit(id, leaf(self.name, float(len(things)), f"holds {', '.join(things)}"))
            for id, things in found.items()
        )

    def _is_common(self, thing: str, context: SearchContext) -> bool:
        """Whether it is one word that many memories have, such as a year: the keyword channel
        ranks these as well, and asking for them again would cost as much."""
        word = thing.lower()
        return context.store.vocabulary.frequencies([word]).get(word, 0) > self.common

    def _holding(self, thing: str, context: SearchContext) -> list[str]:
        index: KeywordIndexName = "subwords" if is_unspaced(thing) else "stemmed"
        phrase = pairs(thing.replace(" ", "")) if index == "subwords" else words(thing)
        if not phrase:
            return []
        weights = dict.fromkeys(COLUMNS[index], 1.0)
        expression = fts5.any_phrase_of([phrase])
        matched = context.store.keyword.match(
            index, expression, weights, self.each, context.search.filter
        )
        return [id for id, _ in matched.matches]
