"""Channels that ask the keyword indexes: by BM25 (which index, which columns, which reading of the
query), for what a query means literally, for long details that hold its words."""

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
from recollect.recall.base import Channel
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
# What these channels found may have the words in its details.
OTHERS = ("subwords", "exact")


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
    def smooths(self) -> bool:
        return self.smooth

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

    def _as_written(self, context: SearchContext) -> list[WrittenMatches]:
        """Return what holds a name such as `C++`, which a match expression cannot ask for."""
        if not self.languages or self.reading != "keywords":
            return []
        return list(context.understanding.written_matches(self.columns).values())


def _note_corrections(context: SearchContext) -> None:
    """Say which words were searched for that nobody typed."""
    for word, meant in context.understanding.corrections.items():
        context.note(f"No memory holds {word!r}: searched for {', '.join(meant)} as well.")


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
    """Of the best `each` by BM25 in details, and of what the channels before it named `OTHERS`
    found: `weight` of the most that BM25 could give, `(k1 + 1) · Σ rarity` of the query's words in
    the passage of `characters` that holds the most of them. So a long log that has every word
    somewhere counts no more than a short note; and BM25 itself would give next to nothing to a
    word that is in the only details there are."""

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
