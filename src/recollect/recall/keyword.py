"""Channels that search the keyword indexes: by BM25, by exact terms, and in long details."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from recollect.context import ChannelRole, SearchContext
from recollect.errors import UserError
from recollect.index import KeywordStatistics
from recollect.query import fts5
from recollect.query.exact import is_unspaced
from recollect.query.passages import window
from recollect.query.subwords import pairs, subwords, subwords_query
from recollect.query.terms import keywords, words
from recollect.query.understanding import BM25_FACTOR, WrittenMatches, inverse_frequency
from recollect.recall import Channel
from recollect.recipes.ranges import AtLeastOne, Depth, Weight
from recollect.store.base import COLUMNS, KeywordIndexName, KeywordQuery
from recollect.types import Findings, Hit, Ranking, Term, leaf, ranked

Reading = Literal["keywords", "words", "pieces", "boolean", "subwords"]
READINGS: dict[str, Callable[[str, Sequence[str]], str]] = {
    "keywords": lambda text, columns: fts5.any_of(keywords(text)),
    "words": lambda text, columns: fts5.any_of(words(text)),
    "pieces": lambda text, columns: fts5.any_prefix_of(text.split()),
    "boolean": lambda text, columns: fts5.boolean(text, columns),
    "subwords": lambda text, columns: subwords_query(text),
}
TERMS: dict[str, Callable[[str], list[str]]] = {
    "keywords": keywords,
    "words": words,
    "pieces": str.split,
    "boolean": words,
    "subwords": lambda text: [],
}
# The indexes that hold an exact term.
UNSPACED: tuple[KeywordIndexName, ...] = ("subwords",)
SPACED: tuple[KeywordIndexName, ...] = ("stemmed", "details")
# The channels whose results are also searched for words in their details.
OTHERS = ("subwords", "exact")


class Keyword(Channel, frozen=True, tag="keyword"):
    """BM25 over the named columns; other columns are neither matched nor scored.

    reading: how the query becomes terms: `keywords` (without stop words, any may match), `words`
        (all words, any may match), `pieces` (split at white space, as prefixes, any may match),
        `boolean` (all must match, or by the operators AND, OR, NOT and NEAR), `subwords` (parts of
        identifiers, and neighbouring characters of scripts without spaces, any may match).
    correct_typos: replace a word that no memory has by its likely corrections.
    languages: read `keywords` of a query in another language by that language: without its question
        words and articles, and with other inflections of unknown words. The recipe then also reads
        times in such a query.
    smooth: smooth the rarity of words in small vaults.
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
    def smooths(self) -> bool:
        return self.smooth

    @property
    def role(self) -> ChannelRole | None:
        return "subwords" if self.index == "subwords" else None

    def check(self, where: str) -> None:
        """Raise UserError for unknown columns, or without columns."""
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
            for word, meant in context.understanding.corrections.items():
                others = ", ".join(meant)
                context.note(f"No memory holds {word!r}: searched for {others} as well.")
        narrowed = context.filter(kind=self.kind, without_kinds=self.without_kinds)
        asked = self.matches(context)
        # Matches of names such as `C++`, which FTS5 expressions cannot express.
        written: list[WrittenMatches] = []
        if self.languages and self.reading == "keywords":
            written = list(context.understanding.written_matches(self.columns).values())
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
        """Return smoothed statistics for BM25, or None for those of the index."""
        unseen = context.understanding.unseen if self.smooth else 0
        if not unseen:
            return None
        own = context.store.keyword.statistics(index, expression)
        rows = own.rows + unseen  # of the same average length
        return own._replace(rows=rows, tokens=round(own.tokens * rows / max(1, own.rows)))


class Exact(Channel, frozen=True, tag="exact"):
    """The best `each` memories for each exact term as a phrase, whatever the query's other words
    find. The score is the number of terms. A word that more than `common` memories have is left to
    the keyword channel."""

    about = "holds an exact term"
    family = "literal"

    each: AtLeastOne = 20
    common: AtLeastOne = 100
    name: str = "exact"

    def recall(self, context: SearchContext) -> Ranking:
        found: dict[str, list[str]] = {}
        for term in context.understanding.exact_terms:
            # A common word, such as a year, would cost as much as the keyword channel, which ranks
            # its memories as well.
            if context.understanding.frequencies.get(term.lower(), 0) > self.common:
                continue
            for id in self._holding(term, context):
                found.setdefault(id, []).append(term)
        return ranked(
            Hit(id, leaf(self.name, float(len(terms)), f"holds {', '.join(terms)}"))
            for id, terms in found.items()
        )

    def _holding(self, term: str, context: SearchContext) -> list[str]:
        """Return the ids of the best memories by their texts, then the best others by details."""
        unspaced = is_unspaced(term)
        phrase = pairs(term.replace(" ", "")) if unspaced else words(term)
        if not phrase:
            return []
        found: dict[str, None] = {}
        indexes = UNSPACED if unspaced else SPACED
        if (written := context.understanding.written_matches().get(term)) is not None:
            found, indexes = dict.fromkeys(list(written.scores)[: self.each]), ("details",)
        for index in indexes:
            weights = dict.fromkeys(COLUMNS[index], 1.0)
            expression = fts5.any_phrase_of([phrase])
            matched = context.store.keyword.match(
                KeywordQuery(index, expression, weights, self.each, context.search.filter)
            )
            found |= {match.memory_id: None for match in matched.matches}
        return list(found)


class Details(Channel, frozen=True, tag="details"):
    """The best `each` by BM25 in details, and the results of OTHERS. The score is `weight` times
    BM25's maximum, `(k1 + 1) · Σ rarity`, for the words in the passage of `characters` that has the
    most of them. So a long log with every word somewhere counts no more than a short note, and a
    word in the only details of a vault counts, which BM25 itself would score near 0."""

    about = "holds the words in its details"
    family = "words"

    weight: Weight = 0.5
    each: AtLeastOne = 20
    characters: AtLeastOne = 600
    name: str = "details"

    @property
    def role(self) -> ChannelRole | None:
        return "details"

    def recall(self, context: SearchContext) -> Ranking:
        query = context.understanding
        words = query.searched_words
        matched = context.store.keyword.match(
            KeywordQuery(
                "details", fts5.any_of(words), {"details": 1.0}, self.each, context.search.filter
            )
        ).matches
        before = (context.channels.get(name, Ranking()).ids[: self.each] for name in OTHERS)
        ids = {match.memory_id for match in matched}.union(*before)
        context.load(ids)
        ids = {id for id in ids if context.has(id) and context.memory(id).details}
        if not ids:
            return Ranking()
        holding = context.store.keyword.holding("details", words)
        rarity = {
            word: inverse_frequency(
                query.documents, max(holding.get(word, 0), query.frequencies.get(word, 0))
            )
            for word in words
        }
        return ranked(self._hit(id, rarity, context) for id in ids)

    def _hit(self, id: str, rarity: dict[str, float], context: SearchContext) -> Hit:
        query = context.understanding
        passage = window(context.memory(id).details, query.passage_words, self.characters)
        stems = frozenset((*context.store.keyword.tokens(passage), *subwords(passage)))
        matched = [word for word in rarity if query.stems_of(word) <= stems]
        total = self.weight * BM25_FACTOR * sum(rarity[word] for word in matched)
        how = f"details hold {', '.join(matched)}" if matched else ""
        why = Term(self.name, total, f"{self.weight:.6g} × rarity of its words", how=how)
        return Hit(id, why, Findings(passage=passage))
