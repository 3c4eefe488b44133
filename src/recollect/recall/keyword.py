"""The keyword channel: which index, which columns, which reading of the query."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from recollect.context import ChannelRole, SearchContext
from recollect.errors import UserError
from recollect.query import fts5
from recollect.query.subwords import subwords_query
from recollect.query.terms import keywords, pieces, words
from recollect.query.understanding import Written
from recollect.recall.base import Channel
from recollect.recipes.ranges import Depth, Weight
from recollect.store.base import COLUMNS, KeywordIndexName, KeywordQuery, KeywordStatistics
from recollect.types import Hit, Ranking, Term, ranked

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


class Keyword(Channel, frozen=True, tag="keyword"):
    """BM25 over the named columns; columns that are not named are neither matched nor scored.

    `reading` is how the query becomes terms: `keywords` (no stop words, any may match), `words`
    (every word, any may match), `pieces` (between white space, as prefixes, any may match),
    `boolean` (all must match, or as the operators AND, OR, NOT and NEAR say), `subwords` (parts of
    identifiers, and neighbouring characters of scripts without spaces, any may match).
    `correct_typos` searches, instead of a word that stands nowhere in the vault, for the words that
    typing errors may have made it of. `languages` reads `keywords` of a query in another language
    than English by that language: without its question words and articles, and with the other forms
    of a word that stands nowhere. The recipe then reads the times that such a query names, too.
    `smooth` counts how rare a word is, in a vault of a few memories, as if there were some more.
    """

    about = "holds the words"
    family = "words"

    index: KeywordIndexName
    columns: dict[str, Weight]
    reading: Reading
    depth: Depth
    name: str = "keyword"
    kind: str | None = None
    without_kinds: tuple[str, ...] = ()
    correct_typos: bool = False
    languages: bool = False
    smooth: bool = False

    @property
    def corrects_typos(self) -> bool:
        return self.correct_typos

    @property
    def reads_languages(self) -> bool:
        return self.languages

    @property
    def role(self) -> ChannelRole | None:
        return "subwords" if self.index == "subwords" else None

    def check(self, where: str) -> None:
        """The index must have the columns, and one at least must be named."""
        known = COLUMNS[self.index]
        for column in self.columns:
            if column not in known:
                raise UserError(
                    f"{where}.columns.{column} is not a column of the {self.index} index; allowed "
                    f"are: {', '.join(known)}."
                )
        if not self.columns:
            raise UserError(f"{where}.columns is empty.")

    def matches(self, context: SearchContext) -> tuple[KeywordIndexName, str] | None:
        text = context.understanding.corrected if self.correct_typos else context.search.query
        if self.languages and self.reading == "keywords":
            expression = fts5.any_of(context.understanding.terms)
        else:
            expression = READINGS[self.reading](text, tuple(self.columns))
        if expression and set(self.columns) != set(COLUMNS[self.index]):
            expression = fts5.within(self.columns, expression)
        return (self.index, expression) if expression else None

    def recall(self, context: SearchContext) -> Ranking:
        if self.correct_typos:
            _note_corrections(context)
        narrowed = context.filter(kind=self.kind, without_kinds=self.without_kinds)
        asked = self.matches(context)
        written = self._as_written(context)
        if narrowed is None or (asked is None and not written):
            return Ranking()
        if len(TERMS[self.reading](context.search.query)) > fts5.MOST_TERMS:
            context.note(
                f"Long query: its first {fts5.MOST_TERMS} different words are the keywords."
            )
        matched = context.store.keyword.match(
            KeywordQuery(
                *(asked or (self.index, "")),
                self.columns,
                self.depth.at(context.limit),
                narrowed,
                self._statistics(context, *asked) if asked else None,
                context.channel_deadline,
            )
        )
        if matched.note:
            context.degrade(self.name, matched.note)
        scores = dict(matched.matches)
        for term in written:
            for id, score in term.scores.items():
                scores[id] = scores.get(id, 0.0) + score
        hits = (Hit(id, Term(self.name, score, "bm25")) for id, score in scores.items())
        return ranked(hits) if written else Ranking(tuple(hits))

    def _statistics(
        self, context: SearchContext, index: KeywordIndexName, expression: str
    ) -> KeywordStatistics | None:
        """Return what BM25 counts instead of what the index holds."""
        unseen = context.understanding.unseen if self.smooth else 0
        if not unseen:
            return None
        own = context.store.keyword.statistics(index, expression)
        rows = own.rows + unseen  # as long as the others
        return own._replace(rows=rows, tokens=round(own.tokens * rows / max(1, own.rows)))

    def _as_written(self, context: SearchContext) -> list[Written]:
        """Return what holds a name such as `C++`, which a match expression cannot ask for."""
        if not self.languages or self.reading != "keywords":
            return []
        return list(context.understanding.written(self.columns).values())


def _note_corrections(context: SearchContext) -> None:
    """Say which words were searched for that nobody typed."""
    for word, meant in context.understanding.corrections.items():
        context.note(f"No memory holds {word!r}: searched for {', '.join(meant)} as well.")
