"""The meaning of a query; each part is computed on first use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import cached_property
from math import log
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from recollect.models.english import is_common
from recollect.query import fts5
from recollect.query.corrections import Corrections
from recollect.query.exact import (
    MOST_EXACT,
    RARE,
    RARE_SHARE,
    TELLING_SHARE,
    find_exact_terms,
    fold,
    holds,
    is_signed,
)
from recollect.query.intent import NOTHING, asks_before, intent, read_list_query
from recollect.query.terms import (
    WORD,
    compose,
    content_words,
    is_english,
    keywords,
    languages_of,
    lower_words,
    words,
)
from recollect.query.time.periods import bounds, event_period, periods, within, without
from recollect.query.variants import other_forms, prefix_forms
from recollect.store.base import KeywordQuery
from recollect.types import Filter, Intent, Memory, Search

if TYPE_CHECKING:
    from recollect.query.intent import ListQuery
    from recollect.query.time.calendar import Period
    from recollect.store.base import Store

# FTS5's bm25() has k1 = 1.2: one word gives at most (k1 + 1) times its idf, and never less than
# LEAST_IDF.
BM25_FACTOR = 2.2
LEAST_IDF = 1e-6
# Another form of a word, or its correction, is weaker evidence than the word.
FORM_SHARE = 0.7
# Fewer than FEW memories cannot tell how rare a word is: rarity is computed as if there were UNSEEN
# more without it.
FEW, UNSEEN = 100, 20
# Words of a query that are checked for typing errors: each takes a few milliseconds at most.
MOST_CORRECTED = 8
# Memories that are read for a name as it is written: some milliseconds.
MOST_READ = 200


def inverse_frequency(documents: int, holding: int) -> float:
    """Return `ln(1 + (N − n + ½) / (n + ½))`, the inverse document frequency of BM25 in Lucene:
    never below 0."""
    return log(1 + (documents - holding + 0.5) / (holding + 0.5))


def fts5_idf(documents: int, holding: float) -> float:
    """Return `ln((N − n + ½) / (n + ½))`, the inverse document frequency of FTS5's bm25(): next to
    nothing for a word in half of the memories."""
    return max(log((documents - holding + 0.5) / (holding + 0.5)), LEAST_IDF)


class WrittenMatches(NamedTuple):
    """The BM25 of the memories that hold a term as it is written, and the term's idf."""

    scores: dict[str, float]
    idf: float


class Understanding:
    """The query as words, stems, exact terms, periods of time, and how rare its words are here.

    before: the query asked about the past, in words that were removed from it.
    languages: read times in other languages than English.
    smooth: in a vault of a few memories compute rarity as if there were more.
    """

    def __init__(
        self,
        search: Search,
        limit: int,
        now: datetime,
        store: Store,
        *,
        before: bool = False,
        languages: bool = False,
        smooth: bool = False,
    ) -> None:
        self._asked_before = before
        self._reads_languages = languages
        self._smooth = smooth
        self._text = search.query
        self._filter = search.filter
        self._literal = bool(search.literal)
        self._ignored = frozenset(search.ignored)
        self._include_expired = search.include_expired
        self._limit = limit
        self._now = now
        self._store = store
        self._stems: dict[str, frozenset[str]] = {}
        self._written_matches: dict[str, WrittenMatches] = {}

    @cached_property
    def intent(self) -> Intent:
        return intent(self._text)

    # Time

    @cached_property
    def periods(self) -> tuple[Period, ...]:
        """The times that the query names, except those that the caller ignores."""
        if self._literal:
            return ()
        found = periods(self._text, self._now, languages=self._reads_languages)
        event = None if found else event_period(self._text, self._date_of)
        read = (event,) if event else found
        return tuple(period for period in read if period.said not in self._ignored)

    def _date_of(self, words: Sequence[str]) -> datetime | None:
        """Return when the memory whose title holds all of these words was made, or None."""
        found = self._holding("title", words)
        return None if found is None else found.created_at

    def _holding(self, column: str, words: Sequence[str]) -> Memory | None:
        """Return the best memory that holds all of these words in this field, or None."""
        expression = fts5.within([column], fts5.all_of(words))
        found = self._store.keyword.match(
            KeywordQuery("stemmed", expression, {column: 1.0}, 1, Filter())
        )
        ids = [match.memory_id for match in found.matches]
        return next(iter(self._store.memories.get(ids).values()), None)

    @cached_property
    def effective_periods(self) -> tuple[Period, ...]:
        """The times that count: the exact ones, else the hints."""
        return tuple(period for period in self.periods if period.exact) or self.periods

    @cached_property
    def text_without_times(self) -> str:
        """The query without the words that name a time."""
        if not self.periods:
            return self._text
        return without(self._text, self.periods)

    @cached_property
    def asks_about_past(self) -> bool:
        """True if the query asks about another time than now."""
        return bool(self._include_expired or self.periods or self.asks_for_former)

    @cached_property
    def asks_for_former(self) -> bool:
        """True if the query asks what held before."""
        return not self._literal and (self._asked_before or asks_before(self._text))

    # A list

    @cached_property
    def list_query(self) -> ListQuery:
        """The filters and the order in the query's words, except those that the caller ignores."""
        if self._literal:
            return NOTHING
        return read_list_query(
            self._text,
            self.effective_periods,
            kinds=lambda: self._store.memories.values("kind"),
            projects=self._store.memories.projects,
            sources=self._sources,
            tags=self._tags,
            stem=self.stems_of,
            ignored=self._ignored,
        )

    def _sources(self, names: Sequence[str]) -> list[str]:
        """Return those of these names that are sources."""
        asked = fts5.within(["source"], fts5.any_of(names))
        every = KeywordQuery("stemmed", asked, {"source": 1.0}, 1, Filter())
        if not self._store.keyword.match(every).matches:  # most queries name none
            return []
        found = ((name, self._holding("source", [name])) for name in names)
        return [name for name, memory in found if memory and memory.source == name]

    def _tags(self, names: Sequence[str]) -> list[str]:
        """Return those of these names that are tags."""
        topics = self._store.topics
        if not names or not topics.carrying(names, 1, Filter()):  # most queries name none
            return []
        return [name for name in names if topics.carrying([name], 1, Filter())]

    @cached_property
    def listed_memories(self) -> list[Memory]:
        """The memories that the query lists, in its order; none if it has a topic."""
        if not self.list_query.lists:
            return []
        since, before = bounds(self.effective_periods)
        labels = self.list_query.labels
        wanted = replace(
            self._filter,
            kind=self._filter.kind or labels.get("kind"),
            project=self._filter.project or labels.get("project"),
            source=self._filter.source or labels.get("source"),
            severity=labels.get("severity"),
            tags=(*self._filter.tags, *filter(None, (labels.get("tag"),))),
            holding=self.list_query.words,
            made_since=since,
            made_before=before,
        )
        oldest = self.list_query.order == "oldest"
        found = self._store.memories.made(wanted, self._limit, oldest=oldest)
        return [memory for memory in found if within(memory.created_at, self.effective_periods)]

    @property
    def lists(self) -> bool:
        """True if a list, possibly empty, answers the query. With a word that no such memory holds,
        it is searched instead."""
        return self.list_query.lists and (bool(self.listed_memories) or not self.list_query.words)

    # Words

    @cached_property
    def keywords(self) -> list[str]:
        """The distinct keywords of the query, in order."""
        return list(dict.fromkeys(keywords(self._text)))

    @cached_property
    def searched_words(self) -> list[str]:
        """The keywords with their other forms or corrections; for a list only the words that its
        memories must hold, since words read as filters are in no passage."""
        words = self.list_query.words if self.lists else self.keywords
        forms = ((word, *self.variants(word)) for word in words)
        return list(dict.fromkeys(form for each in forms for form in each))[: fts5.MOST_TERMS]

    @cached_property
    def passage_words(self) -> list[str]:
        """The searched words and their stems, to find passages by."""
        return [
            *self.searched_words,
            *dict.fromkeys(s for w in self.searched_words for s in self.stems_of(w)),
        ]

    @cached_property
    def timeless_keywords(self) -> list[str]:
        """The distinct keywords that name no time, in order."""
        return list(dict.fromkeys(keywords(self.text_without_times)))

    def stems_of(self, word: str) -> frozenset[str]:
        """Return a word's terms in the stemmed index; an identifier may have several."""
        if word not in self._stems:
            self._stems[word] = frozenset(self._store.keyword.tokens(word))
        return self._stems[word]

    # How rare they are

    @cached_property
    def frequencies(self) -> dict[str, int]:
        """The number of memories that hold each keyword as it is; keywords without a memory are
        missing."""
        return self._store.vocabulary.frequencies(self.keywords)

    @cached_property
    def holding(self) -> dict[str, int]:
        """The number of memories that hold each keyword in any form with the same stem."""
        return self._store.keyword.holding("stemmed", self.keywords) if self.keywords else {}

    @cached_property
    def documents(self) -> int:
        """The number of memories."""
        return self._store.vocabulary.documents()

    @property
    def unseen(self) -> int:
        """The number of memories that are added to compute how rare a word is."""
        return UNSEEN if self._smooth and self.documents < FEW else 0

    # Exact terms

    @cached_property
    def names(self) -> list[str]:
        """Identifiers, numbers, quoted phrases and the like."""
        return find_exact_terms(self.text_without_times)

    def written_matches(
        self, weights: Mapping[str, float] | None = None
    ) -> dict[str, WrittenMatches]:
        """Return the matches of each term that the index reduces to other words, such as `C++` to
        c.

        weights: of the columns to look the terms up in; without them, only earlier results are
            returned.
        """
        if weights and not self._written_matches:
            self._written_matches = {
                name: self._as_written(name, weights) for name in self.names if is_signed(name)
            }
        return self._written_matches

    def _as_written(self, term: str, weights: Mapping[str, float]) -> WrittenMatches:
        """Return the BM25 of an index that would hold the term as it is written. Only the best
        memories that hold its letters are read; the others are extrapolated from these."""
        lookup = KeywordQuery("stemmed", fts5.any_of([term]), weights, MOST_READ, self._filter)
        matches = self._store.keyword.match(lookup).matches
        memories = self._store.memories.get([match.memory_id for match in matches])
        texts = {
            id: fold("\n".join((m.title, m.text, m.context, m.why, m.impact, *m.tags)))
            for id, m in memories.items()
        }
        scores = {id: score for id, score in matches if id in texts and holds(texts[id], term)}
        letters = self._store.keyword.holding("stemmed", [term]).get(term, 0)
        share = len(scores) / len(matches) if matches else 0.0
        idf = fts5_idf(self.documents + self.unseen, share * letters)
        factor = idf / fts5_idf(self.documents, letters)
        return WrittenMatches({id: factor * score for id, score in scores.items()}, idf)

    @cached_property
    def exact_terms(self) -> list[str]:
        """The names, and the keywords that are rare here."""
        covered = {word for name in self.names for word in lower_words(name)}
        rare = [
            word for word in self.timeless_keywords if word not in covered and self._is_rare(word)
        ]
        return [*self.names, *rare][:MOST_EXACT]

    def _is_rare(self, word: str) -> bool:
        """Return True if so few memories hold the word that it is as good as a name. In a vault too
        small to tell, the word must not be a common one either. That is known only of English; in
        other languages the word must be the whole query, or written as a name."""
        holding = self.frequencies.get(word, 0)
        if not 0 < holding <= min(RARE, RARE_SHARE * self.documents):
            return False
        if holding <= TELLING_SHARE * self.documents:
            return True
        listed = word.isascii() and is_english(lower_words(self._text))
        alone = len(self.keywords) == 1
        return not is_common(word) and (listed or alone or word in self._capitalised)

    @cached_property
    def _capitalised(self) -> frozenset[str]:
        """The words with a capital letter, without the first: it has one in any sentence."""
        return frozenset(word.lower() for word in words(self._text)[1:] if not word.islower())

    # Other languages, and typing errors

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages other than English that the query may be in."""
        return () if self._literal else languages_of(lower_words(self._text))

    @cached_property
    def forms(self) -> dict[str, list[str]]:
        """Other forms, held by the vault, of each keyword that it does not hold.

        Inflections in a language that the index does not stem; else words of which one is the
        prefix of the other (`postgres`, `postgresql`).
        """
        unknown = [word for word in self.keywords if not self.holding.get(word)]
        if self._literal or not unknown:
            return {}
        beginning = self._store.vocabulary.beginning
        found = {
            word: other_forms(word, self.languages, beginning)
            if self.languages
            else prefix_forms(word, beginning)
            for word in unknown
        }
        return {word: forms for word, forms in found.items() if forms}

    @cached_property
    def content(self) -> list[str]:
        """The keywords that name no time and are no function words; all keywords if nothing else is
        left."""
        return content_words(self.timeless_keywords) if self.timeless_keywords else self.keywords

    @cached_property
    def terms(self) -> list[str]:
        """The words of `content` with their other forms; corrections replace a typing error."""
        return [
            form
            for word in self.content
            for form in (self.corrections.get(word) or (word, *self.forms.get(word, ())))
        ]

    @cached_property
    def largest_bm25(self) -> float:
        """The largest BM25 that FTS5 can give: `(k1 + 1) · Σ idf` over the words of `content` and
        the terms of `written`.

        A word that no memory holds counts as the rarest. A word held only in other forms, or as a
        correction, counts FORM_SHARE.
        """
        others = [form for word in self.content for form in self.variants(word)]
        holding = self._store.keyword.holding("stemmed", others) if others else {}
        documents = self.documents + self.unseen
        total = sum(
            max(fts5_idf(documents, holding.get(form, 0)) for form in forms) / FORM_SHARE
            if (forms := self.variants(word))
            else fts5_idf(documents, self.holding.get(word, 0))
            for word in self.content
        )
        total += sum(found.idf for found in self._written_matches.values())
        return max(BM25_FACTOR * total, LEAST_IDF)

    def variants(self, word: str) -> Sequence[str]:
        """Return what is searched for in addition to a keyword: its other forms, or its
        corrections."""
        return self.forms.get(word) or self.corrections.get(word) or ()

    @cached_property
    def corrections(self) -> dict[str, list[str]]:
        """The words that may have been meant by each keyword that the vault holds in no form.

        A word that the vault holds is never corrected, so that no similar word can outrank it. Only
        the first MOST_CORRECTED unknown words are checked.
        """
        if self._literal:
            return {}
        corrections = Corrections(self._store)
        typed = {word.lower(): word for word in words(self._text)}
        unknown = [
            word
            for word in self.keywords
            if word in typed
            and word not in self.frequencies
            and word not in self._ignored
            and word not in self.forms
        ]
        found = {word: corrections.meant(typed[word]) for word in unknown[:MOST_CORRECTED]}
        return {word: meant for word, meant in found.items() if meant}

    @cached_property
    def corrected(self) -> str:
        """The query with its corrections."""
        if not self.corrections:
            return self._text
        return WORD.sub(
            lambda word: " ".join(self.corrections.get(word[0].lower(), (word[0],))),
            compose(self._text),
        )
