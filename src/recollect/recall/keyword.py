"""The keyword channel: which index, which columns, which reading of the query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import Struct

from recollect.context import SearchContext
from recollect.depth import Depth
from recollect.query import fts5
from recollect.query.subwords import subwords_query
from recollect.query.terms import keywords, pieces, words
from recollect.recipes.ranges import Weight
from recollect.store.base import COLUMNS, KeywordIndexName
from recollect.types import Filter, Hit, Ranking, leaf

Reading = Literal["keywords", "words", "pieces", "boolean", "subwords"]
READINGS: dict[str, Callable[[str, Sequence[str]], str]] = {
    "keywords": lambda text, columns: fts5.any_of(keywords(text)),
    "words": lambda text, columns: fts5.any_of(words(text)),
    "pieces": lambda text, columns: fts5.any_prefix_of(pieces(text)),
    "boolean": lambda text, columns: fts5.boolean(text, columns),
    "subwords": lambda text, columns: subwords_query(text),
}
TERMS: dict[str, Callable[[str], list[str]]] = {
    "keywords": keywords,
    "words": words,
    "pieces": pieces,
    "boolean": words,
    "subwords": lambda text: [],
}


class Keyword(Struct, frozen=True, tag="keyword", forbid_unknown_fields=True):
    """BM25 over the named columns; columns that are not named are neither matched nor scored.

    `reading` is how the query becomes terms: `keywords` (no stop words, any may match), `words`
    (every word, any may match), `pieces` (between white space, as prefixes, any may match),
    `boolean` (all must match, or as the operators AND, OR, NOT and NEAR say), `subwords` (parts
    of identifiers, and neighbouring characters of scripts without spaces, any may match).
    `mend` puts, for a word that stands nowhere in the vault, the words that one typing error makes
    of it.
    """

    index: KeywordIndexName
    columns: dict[str, Weight]
    reading: Reading
    depth: Depth
    name: str = "keyword"
    kind: str | None = None
    without_kinds: tuple[str, ...] = ()
    mend: bool = False

    def wanted(self, context: SearchContext) -> bool:
        return True

    def recall(self, context: SearchContext) -> Ranking:
        asked = " ".join((context.search.query, *(mended(context) if self.mend else ())))
        expression = READINGS[self.reading](asked, tuple(self.columns))
        narrowed = context.filter(kind=self.kind, without_kinds=self.without_kinds)
        if not expression or narrowed is None:
            return Ranking()
        if set(self.columns) != set(COLUMNS[self.index]):
            expression = fts5.within(self.columns, expression)
        if len(TERMS[self.reading](context.search.query)) > fts5.MOST_TERMS:
            context.note(
                f"Long query: its first {fts5.MOST_TERMS} different words are the keywords."
            )
        context.matches[self.name] = (self.index, expression)
        matched = context.store.keyword.match(
            self.index, expression, self.columns, self.depth.at(context.limit), narrowed
        )
        if matched.note:
            context.degrade(self.name, matched.note)
        return Ranking(
            tuple(Hit(id, leaf(self.name, score, "bm25")) for id, score in matched.matches)
        )


def mended(context: SearchContext) -> list[str]:
    """What one typing error makes of the query's words that stand nowhere in the vault, in any
    form. A word that is there is never mended, so that no likeness can outrank it."""
    words = list(dict.fromkeys(keywords(context.search.query)))
    known = context.store.vocabulary.frequencies(words)
    unknown = [word for word in words if word not in known and not _stands(word, context)]
    similar = context.mended = context.store.vocabulary.similar(unknown) if unknown else {}
    for word, others in similar.items():
        if others:
            context.note(f"No memory holds {word!r}: searched for {', '.join(others)} as well.")
    return [other for others in similar.values() for other in others]


def _stands(word: str, context: SearchContext) -> bool:
    """Whether another form of the word is there: `deployed` where only `deploys` was written."""
    weights = dict.fromkeys(COLUMNS["stemmed"], 1.0)
    return bool(
        context.store.keyword.match("stemmed", fts5.any_of([word]), weights, 1, Filter()).matches
    )
