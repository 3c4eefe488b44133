"""What a query means, each part worked out once, when somebody first asks for it."""

from __future__ import annotations

import re
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
    MOST_THINGS,
    RARE,
    RARE_SHARE,
    TELLING_SHARE,
    exact_things,
    folded,
    holds,
    is_signed,
)
from recollect.query.function_words import content_words, is_english, languages_of
from recollect.query.intent import asks_before, asks_for_successor, intent
from recollect.query.listing import NOTHING, asked
from recollect.query.terms import WORD, composed, keywords, lowered, words
from recollect.query.time.hints import may_name_a_time
from recollect.query.word_forms import other_forms, prefix_forms
from recollect.store.base import KeywordQuery
from recollect.types import Filter, Intent, Memory, Search

if TYPE_CHECKING:
    from recollect.query.listing import Asked
    from recollect.query.time.calendar import Period
    from recollect.store.base import Store

# FTS5's bm25() has k1 = 1.2: one word gives at most (k1 + 1) times its idf, and never less than
# LEAST_IDF.
BM25_FACTOR = 2.2
LEAST_IDF = 1e-6
# Another form of a word, or what it may be a typing error of, is weaker evidence than the word.
FORM_SHARE = 0.7
# Fewer memories than FEW are too few to tell how rare a word is: it is counted as if there were
# UNSEEN more, which do not hold it.
FEW, UNSEEN = 100, 20
# Words of a query that are looked at for typing errors: each costs a few milliseconds at most.
MOST_CORRECTED = 8
# Memories that are read to see whether they hold a name as it is written: some milliseconds.
MOST_READ = 200


def inverse_frequency(documents: int, holding: int) -> float:
    """`ln(1 + (N − n + ½) / (n + ½))`, the inverse document frequency of BM25 as Lucene has it:
    never below 0."""
    return log(1 + (documents - holding + 0.5) / (holding + 0.5))


def fts5_idf(documents: int, holding: float) -> float:
    """`ln((N − n + ½) / (n + ½))`, the inverse document frequency of FTS5's bm25(), which counts a
    word that half of the memories hold as next to nothing."""
    return max(log((documents - holding + 0.5) / (holding + 0.5)), LEAST_IDF)


class Written(NamedTuple):
    """The memories that hold a term as it is written, with their BM25, and the term's idf."""

    scores: dict[str, float]
    idf: float


class Understanding:
    """The query as words, stems, exact terms, periods of time, and how rare its words are here."""

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
        """`before`: the query asked for what was before, in words that it has no longer.
        `languages`: times in other languages than English count. `smooth`: in a vault of a few
        memories rarity is counted as if there were more."""
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
        self._written: dict[str, Written] = {}

    @cached_property
    def intent(self) -> Intent:
        return intent(self._text)

    # Time

    @cached_property
    def periods(self) -> tuple[Period, ...]:
        """The times that the query's words name, unless the caller does not want them read so."""
        if self._literal:
            return ()
        if not may_name_a_time(self._text, languages=self._reads_languages):
            return ()
        from recollect.query.time.anchors import anchored  # noqa: PLC0415  start-up time
        from recollect.query.time.periods import periods  # noqa: PLC0415  start-up time

        found = periods(self._text, self._now, languages=self._reads_languages)
        event = None if found else anchored(self._text, self._date_of)
        read = (event,) if event else found
        return tuple(period for period in read if period.said not in self._ignored)

    def _date_of(self, words: Sequence[str]) -> datetime | None:
        """When the memory was made whose title holds all of these words."""
        found = self._holding("title", words)
        return None if found is None else found.created_at

    def _holding(self, column: str, words: Sequence[str]) -> Memory | None:
        """The memory that holds all of these words in this field, best first."""
        expression = fts5.within([column], fts5.all_of(words))
        found = self._store.keyword.match(
            KeywordQuery("stemmed", expression, {column: 1.0}, 1, Filter())
        )
        ids = [match.memory_id for match in found.matches]
        return next(iter(self._store.memories.get(ids).values()), None)

    @cached_property
    def asked_periods(self) -> tuple[Period, ...]:
        """The times that count: those that are bounded on purpose, without any the hints."""
        return tuple(period for period in self.periods if period.exact) or self.periods

    @cached_property
    def timeless(self) -> str:
        """The query without the words that name a time."""
        if not self.periods:
            return self._text
        from recollect.query.time.periods import without  # noqa: PLC0415  start-up time

        return without(self._text, self.periods)

    @cached_property
    def past(self) -> bool:
        """Whether what held at another time than now is asked for."""
        return bool(self._include_expired or self.periods or self._formerly)

    @cached_property
    def _formerly(self) -> bool:
        return not self._literal and (self._asked_before or asks_before(self._text))

    def wants_before(self, newer: Memory, older: Memory) -> bool:
        """Whether the older of two statements is asked for rather than the newer: it alone has a
        name or a number that the query has; or it held at the time that the query names, or the
        query asks for what was before, and the newer alone has no such name. A query for what
        replaced something wants the newer."""
        if asks_for_successor(self._text):
            return False
        names = {*self.names, *re.findall(r"\w*\d\w*", self._text)}
        before, after = (
            folded(f"{memory.title}\n{memory.text}\n{memory.details}") for memory in (older, newer)
        )
        older_has, newer_has = (
            {name for name in names if holds(text, name)} for text in (before, after)
        )
        if older_has - newer_has:
            return True
        return not newer_has - older_has and self.asks_for_time_of(newer, older)

    def asks_for_time_of(self, newer: Memory, older: Memory) -> bool:
        """Whether the older of two statements held at the time that the query names, or the query
        asks for what was before."""
        if not self.asked_periods:
            return self._formerly
        ends = [period.end for period in self.asked_periods if period.end]
        if len(ends) < len(self.asked_periods):
            return False  # up to now
        before = any(period.start is None for period in self.asked_periods)
        return older.updated_at < max(ends) and (before or newer.updated_at >= max(ends))

    # A list

    @cached_property
    def asked(self) -> Asked:
        """What the query asks for beside its topic, unless the caller does not want it read so."""
        if self._literal:
            return NOTHING
        return asked(
            self._text,
            self.asked_periods,
            kinds=lambda: self._store.memories.values("kind"),
            projects=self._store.memories.projects,
            sources=self._sources,
            tags=self._tags,
            stem=self.stems_of,
            ignored=self._ignored,
        )

    def _sources(self, names: Sequence[str]) -> list[str]:
        """Those of these names that are sources."""
        asked = fts5.within(["source"], fts5.any_of(names))
        every = KeywordQuery("stemmed", asked, {"source": 1.0}, 1, Filter())
        if not self._store.keyword.match(every).matches:  # most queries name none
            return []
        found = ((name, self._holding("source", [name])) for name in names)
        return [name for name, memory in found if memory and memory.source == name]

    def _tags(self, names: Sequence[str]) -> list[str]:
        """Those of these names that are tags."""
        topics = self._store.topics
        if not names or not topics.carrying(names, 1, Filter()):  # most queries name none
            return []
        return [name for name in names if topics.carrying([name], 1, Filter())]

    @cached_property
    def listed(self) -> list[Memory]:
        """What the query lists, in the order asked for; nothing where it has a topic."""
        if not self.asked.lists:
            return []
        from recollect.query.time.periods import bounds, within  # noqa: PLC0415  start-up time

        since, before = bounds(self.asked_periods)
        wanted = replace(
            self._filter,
            kind=self._filter.kind or self.asked.kind,
            project=self._filter.project or self.asked.project,
            source=self._filter.source or self.asked.source,
            severity=self.asked.severity,
            tags=(*self._filter.tags, *((self.asked.tag,) if self.asked.tag else ())),
            holding=self.asked.words,
            made_since=since,
            made_before=before,
        )
        oldest = self.asked.order == "oldest"
        found = self._store.memories.made(wanted, self._limit, oldest=oldest)
        return [memory for memory in found if within(memory.created_at, self.asked_periods)]

    @property
    def lists(self) -> bool:
        """Whether the query is answered by a list, which may be empty. A word that no such memory
        holds is searched for like any other."""
        return self.asked.lists and (bool(self.listed) or not self.asked.words)

    # Words

    @cached_property
    def keywords(self) -> list[str]:
        """The different keywords of the query, in order."""
        return list(dict.fromkeys(keywords(self._text)))

    @cached_property
    def searched(self) -> list[str]:
        """The keywords, each with the words that a typing error may have made it of. Of a list only
        those that its memories must hold: what was read as a filter stands in no passage."""
        words = self.asked.words if self.lists else self.keywords
        forms = ((word, *self.also(word)) for word in words)
        return list(dict.fromkeys(form for each in forms for form in each))[: fts5.MOST_TERMS]

    @cached_property
    def sought(self) -> list[str]:
        """The words searched for and their stems: what a passage is looked for by."""
        return [*self.searched, *dict.fromkeys(s for w in self.searched for s in self.stems_of(w))]

    @cached_property
    def timeless_keywords(self) -> list[str]:
        """The different keywords that name no time, in order."""
        return list(dict.fromkeys(keywords(self.timeless)))

    def stems_of(self, word: str) -> frozenset[str]:
        """A word as the stemmed index knows it; an identifier may be several."""
        if word not in self._stems:
            self._stems[word] = frozenset(self._store.keyword.tokens(word))
        return self._stems[word]

    # How rare they are

    @cached_property
    def frequencies(self) -> dict[str, int]:
        """How many memories hold each keyword of the query; those that none holds are left out."""
        return self._store.vocabulary.frequencies(self.keywords)

    @cached_property
    def holding(self) -> dict[str, int]:
        """How many memories hold each keyword of the query in any form that the stemmed index
        knows as the same."""
        return self._store.keyword.holding("stemmed", self.keywords) if self.keywords else {}

    @cached_property
    def documents(self) -> int:
        """How many memories there are."""
        return self._store.vocabulary.documents()

    @property
    def unseen(self) -> int:
        """How many memories more the rarity of a word is counted in."""
        return UNSEEN if self._smooth and self.documents < FEW else 0

    # What is meant literally

    @cached_property
    def names(self) -> list[str]:
        """Identifiers, numbers, quoted phrases and the like."""
        return exact_things(self.timeless)

    def written(self, weights: Mapping[str, float] | None = None) -> dict[str, Written]:
        """Return what was found of each term that the index takes for other words: `C++` for c.

        weights: of the columns; they look the terms up. A recipe that never does so has none.
        """
        if weights and not self._written:
            self._written = {
                name: self._as_written(name, weights) for name in self.names if is_signed(name)
            }
        return self._written

    def _as_written(self, term: str, weights: Mapping[str, float]) -> Written:
        """Return the BM25 that an index would give which holds the term as it is written: the best
        that hold its letters are read, and stand for those that are not."""
        lookup = KeywordQuery("stemmed", fts5.any_of([term]), weights, MOST_READ, self._filter)
        matches = self._store.keyword.match(lookup).matches
        memories = self._store.memories.get([match.memory_id for match in matches])
        texts = {id: folded(_text_of(memory)) for id, memory in memories.items()}
        scores = {id: score for id, score in matches if id in texts and holds(texts[id], term)}
        letters = self._store.keyword.holding("stemmed", [term]).get(term, 0)
        share = len(scores) / len(matches) if matches else 0.0
        idf = fts5_idf(self.documents + self.unseen, share * letters)
        factor = idf / fts5_idf(self.documents, letters)
        return Written({id: factor * score for id, score in scores.items()}, idf)

    @cached_property
    def exact_terms(self) -> list[str]:
        """The names, and keywords that are rare here."""
        covered = {word for name in self.names for word in lowered(name)}
        rare = [
            word for word in self.timeless_keywords if word not in covered and self._is_rare(word)
        ]
        return [*self.names, *rare][:MOST_THINGS]

    def _is_rare(self, word: str) -> bool:
        """Whether so few memories hold the word that it is as good as a name, and, where there are
        too few memories to tell, whether it is no common word. Which words are common in other
        languages than English nobody says here: there it stands alone, or is written as a name."""
        holding = self.frequencies.get(word, 0)
        if not 0 < holding <= min(RARE, RARE_SHARE * self.documents):
            return False
        if holding <= TELLING_SHARE * self.documents:
            return True
        listed = word.isascii() and is_english(lowered(self._text))
        alone = len(self.keywords) == 1
        return not is_common(word) and (listed or alone or word in self._capitalised)

    @cached_property
    def _capitalised(self) -> frozenset[str]:
        """The words with a capital letter, but for the first: any sentence begins with one."""
        return frozenset(word.lower() for word in words(self._text)[1:] if not word.islower())

    # Other languages, and typing errors

    @cached_property
    def languages(self) -> tuple[str, ...]:
        """The languages other than English that the query may be in."""
        return () if self._literal else languages_of(lowered(self._text))

    @cached_property
    def forms(self) -> dict[str, list[str]]:
        """For each keyword that stands nowhere in the vault, its other forms that do: in a language
        that the index does not stem, its inflections; else longer words that begin with it, and
        shorter ones that it begins with (`postgres` and `postgresql`)."""
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
        """The keywords that carry meaning: they name no time, and no language asks with them. All
        keywords where nothing else is left."""
        return content_words(self.timeless_keywords) if self.timeless_keywords else self.keywords

    @cached_property
    def terms(self) -> list[str]:
        """The words of `content`, each with its other forms; in the place of a typing error, what
        may have been meant."""
        return [
            form
            for word in self.content
            for form in (self.corrections.get(word) or (word, *self.forms.get(word, ())))
        ]

    @cached_property
    def largest_bm25(self) -> float:
        """The most that BM25 can give a memory that holds every word of `content` and every term of
        `written`, as FTS5 counts it: `(k1 + 1) · Σ idf`. A word that no memory holds is rarer than
        all. Where only other forms of a word are held, or corrections of it, they are worth
        FORM_SHARE of it."""
        others = [form for word in self.content for form in self.also(word)]
        holding = self._store.keyword.holding("stemmed", others) if others else {}
        documents = self.documents + self.unseen
        total = sum(
            max(fts5_idf(documents, holding.get(form, 0)) for form in forms) / FORM_SHARE
            if (forms := self.also(word))
            else fts5_idf(documents, self.holding.get(word, 0))
            for word in self.content
        )
        total += sum(found.idf for found in self._written.values())
        return max(BM25_FACTOR * total, LEAST_IDF)

    def also(self, word: str) -> Sequence[str]:
        """What is searched for beside this keyword: other forms of it, or what was meant by it."""
        return self.forms.get(word) or self.corrections.get(word) or ()

    @cached_property
    def corrections(self) -> dict[str, list[str]]:
        """For each keyword that stands nowhere in the vault, in any form, the words that typing
        errors may have made it of. A word that is there is never corrected, so that no likeness can
        outrank it. Of a long query only the first such words are looked at."""
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
        """The query, with what may have been meant in the place of what is corrected."""
        if not self.corrections:
            return self._text
        return WORD.sub(
            lambda word: " ".join(self.corrections.get(word[0].lower(), (word[0],))),
            composed(self._text),
        )


def _text_of(memory: Memory) -> str:
    fields = (memory.title, memory.text, memory.context, memory.why, memory.impact, *memory.tags)
    return "\n".join(fields)
