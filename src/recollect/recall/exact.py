"""The exact channel: what a query means literally always enters the pool."""

from __future__ import annotations

from recollect.context import SearchContext
from recollect.query import fts5
from recollect.query.exact import is_unspaced
from recollect.query.subwords import pairs
from recollect.query.terms import words
from recollect.recall.base import Channel
from recollect.recipes.ranges import AtLeastOne
from recollect.store.base import COLUMNS, KeywordIndexName, KeywordQuery
from recollect.types import Hit, Ranking, leaf, ranked

# The indexes that hold such a term.
UNSPACED: tuple[KeywordIndexName, ...] = ("subwords",)
SPACED: tuple[KeywordIndexName, ...] = ("stemmed", "details")


class Exact(Channel, frozen=True, tag="exact"):
    """The best `each` memories for each exact term by itself, its words one behind the other: the
    other words of the query cannot crowd them out. A memory counts by how many terms it has. A
    word that more than `common` memories have is not rare, and is left to the keywords."""

    about = "holds an exact term"
    family = "literal"

    each: AtLeastOne = 20
    common: AtLeastOne = 100
    name: str = "exact"

    def recall(self, context: SearchContext) -> Ranking:
        found: dict[str, list[str]] = {}
        for term in context.understanding.exact_terms:
            # One word that many memories have, such as a year: the keyword channel ranks these as
            # well, and asking for them again would cost as much.
            if context.understanding.frequencies.get(term.lower(), 0) > self.common:
                continue
            for id in self._holding(term, context):
                found.setdefault(id, []).append(term)
        return ranked(
            Hit(id, leaf(self.name, float(len(terms)), f"holds {', '.join(terms)}"))
            for id, terms in found.items()
        )

    def _holding(self, term: str, context: SearchContext) -> list[str]:
        """The best by text and the like, then the best by details that are none of these."""
        unspaced = is_unspaced(term)
        phrase = pairs(term.replace(" ", "")) if unspaced else words(term)
        if not phrase:
            return []
        found: dict[str, None] = {}
        indexes = UNSPACED if unspaced else SPACED
        if (written := context.understanding.written().get(term)) is not None:
            found, indexes = dict.fromkeys(list(written.scores)[: self.each]), ("details",)
        for index in indexes:
            weights = dict.fromkeys(COLUMNS[index], 1.0)
            expression = fts5.any_phrase_of([phrase])
            matched = context.store.keyword.match(
                KeywordQuery(index, expression, weights, self.each, context.search.filter)
            )
            found |= {match.memory_id: None for match in matched.matches}
        return list(found)
