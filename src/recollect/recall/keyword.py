"""The keyword channel: which index, which columns, which reading of the query."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from recollect.at import At
from recollect.bounds import Weight
from recollect.query import fts5
from recollect.query.terms import keywords, pieces, words
from recollect.recall.depth import Depth
from recollect.store.base import COLUMNS, KeywordIndexName
from recollect.types import Hit, Ranking, leaf

Reading = Literal["keywords", "words", "pieces", "boolean"]
READINGS = {
    "keywords": lambda text, columns: fts5.any_of(keywords(text)),
    "words": lambda text, columns: fts5.any_of(words(text)),
    "pieces": lambda text, columns: fts5.any_prefix_of(pieces(text)),
    "boolean": lambda text, columns: fts5.boolean(text, columns),
}
TERMS = {"keywords": keywords, "words": words, "pieces": pieces, "boolean": words}


class Keyword(Struct, frozen=True, tag="keyword", forbid_unknown_fields=True):
    """BM25 over the named columns; columns that are not named are neither matched nor scored.

    `reading` is how the query becomes terms: `keywords` (no stop words, any may match), `words`
    (every word, any may match), `pieces` (between white space, as prefixes, any may match),
    `boolean` (all must match, or as the operators AND, OR, NOT and NEAR say).
    """

    index: KeywordIndexName
    columns: dict[str, Weight]
    reading: Reading
    depth: Depth
    name: str = "keyword"
    kind: str | None = None
    without_kinds: tuple[str, ...] = ()

    def wanted(self, at: At) -> bool:
        return True

    def recall(self, at: At) -> Ranking:
        expression = READINGS[self.reading](at.query.text, tuple(self.columns))
        narrowed = at.filter(kind=self.kind, without_kinds=self.without_kinds)
        if not expression or narrowed is None:
            return Ranking()
        if set(self.columns) != set(COLUMNS[self.index]):
            expression = fts5.within(self.columns, expression)
        if len(TERMS[self.reading](at.query.text)) > fts5.MOST_TERMS:
            at.note(f"Long query: its first {fts5.MOST_TERMS} different words are the keywords.")
        at.matches[self.name] = (self.index, expression)
        matched = at.store.keyword.match(
            self.index, expression, self.columns, self.depth.at(at.limit), narrowed
        )
        if matched.note:
            at.degrade(self.name, matched.note)
        return Ranking(
            tuple(Hit(id, leaf(self.name, score, "bm25")) for id, score in matched.found)
        )
