"""Snippets: the matching passage of a memory with its matches marked, and which of its words answer
which of the query, by vectors of their tokens."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence, Set
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs
from msgspec.structs import replace

from recollect.context import SearchContext
from recollect.models.base import Tokenwise
from recollect.query.passages import CUT, LEAST_START, densest, passage
from recollect.query.terms import WORD, english_words
from recollect.store.sqlite.fts5_index import snippets as fts5_snippets
from recollect.types import FilePlace, Hit, Memory, Passage, Span, Term

if TYPE_CHECKING:
    from recollect.context import SearchContext, WordByWord
    from recollect.models.base import Matrix
    from recollect.recipes.base import AnyChannel


PASSAGE_CHARACTERS = 160
SHORTEST_NAME = 3  # characters of a query word that is searched literally in a line
MARKED = re.compile("<mark>(.*?)</mark>", re.DOTALL)
# Indented lines, a fence, lines that end like statements.
CODE = re.compile(r"\n(?: {2,}|\t)\S|```|[;{}]\s*\n")


def split_marks(snippet: str) -> list[tuple[str, bool]]:
    """Split a marked snippet into parts, each with whether it is a match. An unpaired mark is text
    of the memory."""
    parts = MARKED.split(snippet)
    return [(part, number % 2 == 1) for number, part in enumerate(parts) if part]


def is_code(text: str) -> bool:
    """Return whether a text looks like code, so that its line breaks matter."""
    return CODE.search(text) is not None


def join_lines(text: str) -> str:
    """Return the text in one line; code keeps its lines."""
    return text if is_code(text) else " ".join(text.split())


def passages(context: SearchContext, memories: Sequence[Memory]) -> dict[str, Passage]:
    """Return the passage of each memory that answers the query best by its tokens. If tokens were
    not compared, return the one with the query's words, or the one nearest in meaning."""
    words = context.understanding.passage_words
    spans = {hit.memory_id: hit.findings.span for hit in context.by_vectors()}
    found = {}
    for memory in memories:
        answers = context.answering.get(memory.id)
        if answers is not None:
            at = answers.best_start(PASSAGE_CHARACTERS)
        else:
            near = spans.get(memory.id)
            at = max(0, near.start - len(memory.title) - 1) if near else 0
        found[memory.id] = passage(
            memory, words, PASSAGE_CHARACTERS, at, answering=answers is not None
        )
    return found


def place_of_match(hit: Hit, memory: Memory, context: SearchContext) -> FilePlace | None:
    """Return the place of a hit in its file, with the line that matches best; None if it is not
    part of a file.

    The best line has the most words of the query, first literally, such as names in code, then in
    any inflection. Of equal lines, one in the shown passage wins; a passage that answers by its
    tokens always wins. If the passage is not from the text, or the text has other lines than the
    file, it is the first line of the hit.
    """
    place, text, words = hit.findings.file, memory.text, context.understanding.passage_words
    if place is None:
        return None
    found = context.passages.get(memory.id) or passage(memory, words, PASSAGE_CHARACTERS)
    shown = found.text.strip(CUT)
    at = text.find(shown) if found.field == "text" else -1
    if at < 0 or text.count("\n") != place.last_line - place.first_line:
        return replace(place, line=place.first_line)
    lines, above = text.split("\n"), text.count("\n", 0, at)
    inside = range(above, above + shown.count("\n") + 1)
    answers = memory.id in context.answering
    typed = [word for word in context.search.query.lower().split() if len(word) >= SHORTEST_NAME]

    def fit(number: int) -> tuple[bool, int, int, bool, bool]:
        line, within = lines[number], number in inside
        held, low = densest(line, words, len(line)).different, line.lower()
        exact = sum(word in low for word in typed)
        return answers and within, exact, held, within, bool(line.strip())

    return replace(place, line=place.first_line + max(range(len(lines)), key=fit))


def snippets(
    context: SearchContext, channels: Sequence[AnyChannel], memories: Sequence[Memory]
) -> dict[str, str]:
    """Return the passages with `<mark>` around each match. Without passages, return FTS5's snippets
    of the memories that a keyword channel found. Source: the `router` recipe, "Snippet"."""
    if context.passages:
        answers = {
            id: frozenset(pair.answer.lower() for pair in each.pairs)
            for id, each in context.answering.items()
        }
        return {
            id: highlight(found.text, context, answers.get(id, frozenset()))
            for id, found in context.passages.items()
        }
    found_by_words: dict[str, str] = {}
    for channel in channels:
        ids = set(context.channels[channel.name].ids if channel.name in context.channels else ())
        matched = [memory for memory in memories if memory.id in ids]
        if matched and (asked := channel.matches(context)) is not None:
            found_by_words |= fts5_snippets(*asked, matched)
    return found_by_words


def highlight(text: str, context: SearchContext, answers: Set[str] = frozenset()) -> str:
    """Return the text with `<mark>` around the query's words in any inflection, and around
    `answers`, lower-case words that answer it by meaning."""
    query = context.understanding
    wanted = frozenset[str]().union(*(query.stems_of(word) for word in query.searched_words))
    starts = tuple(stem[:LEAST_START] for stem in wanted)  # stemming every word would be slow

    def mark(found: re.Match[str]) -> str:
        word = found[0].lower()
        same = word.startswith(starts) and query.stems_of(word) & wanted
        return f"<mark>{found[0]}</mark>" if same or word in answers else found[0]

    return WORD.sub(mark, text)


MAXSIM = "maxsim"  # the name of the feature
MOST_PAIRS = 3
NEARLY = 1e-6  # passages whose scores differ by less are equally good


class WordPair(NamedTuple):
    """A word of the query, the word of the memory that answers it, and its share of MaxSim."""

    asked: str
    answer: str
    share: float

    def __str__(self) -> str:
        """`stay → token`, or the word if both are the same."""
        same = self.asked.lower() == self.answer.lower()
        return self.asked if same else f"{self.asked} → {self.answer}"


class Answering:
    """The passage of a memory that was compared with a query, token by token."""

    def __init__(self, context: SearchContext, memory: Memory, compared: WordByWord) -> None:
        whole = f"{memory.title}\n{memory.text}\n{memory.context}"
        self._lead = len(whole) - len(whole.lstrip())
        span = compared.span
        self._start = span.start
        text = whole.strip()
        self._text = text[span.start : span.end] if span.end else text
        self._title = len(memory.title) + 1
        self._query, tokens, embedder = context.search.query, context.query_tokens, context.embedder
        assert tokens is not None
        assert isinstance(embedder, Tokenwise)
        self._asked, self._weights = tokens.spans, tokens.weights
        self._embedder = embedder
        self._keywords = frozenset(context.understanding.keywords)
        self._cosines: Matrix = compared.cosines

    @cached_property
    def _spans(self) -> list[Span]:
        """The span of each token; empty if the text was edited since it was embedded."""
        spans = self._embedder.spans(self._text)
        return spans if len(spans) == self._cosines.shape[1] else []

    @cached_property
    def pairs(self) -> list[WordPair]:
        """The pairs with the largest shares, largest first."""
        if not self._spans:
            return []
        best = self._cosines.argmax(axis=1)
        counts = self._weights * self._cosines.max(axis=1)
        shares: dict[tuple[str, str], float] = defaultdict(float)
        for asked, answer, count in zip(self._asked, best.tolist(), counts.tolist(), strict=True):
            pair = _word(self._query, asked), _word(self._text, self._spans[answer])
            shares[pair] += max(count, 0.0)
        total = sum(shares.values()) or 1.0
        # Pairs with a common word such as "the" explain nothing.
        common = english_words()
        telling = [
            (asked, answer)
            for asked, answer in shares
            if asked.lower() in self._keywords
            and common.isdisjoint((asked.lower(), answer.lower()))
        ]
        largest = sorted(telling, key=shares.__getitem__, reverse=True)[:MOST_PAIRS]
        return [WordPair(*pair, shares[pair] / total) for pair in largest]

    def explain(self, why: Term) -> Term:
        """Add the pairs to the explanation of the memory's score: `stay → token 31%, ...`."""
        if not self.pairs:
            return why
        return _add_words(why, ", ".join(f"{pair} {pair.share:.0%}" for pair in self.pairs))

    def best_start(self, size: int) -> int:
        """Return the start, in the memory's text, of the `size` characters whose tokens answer
        best; of equally good ones, the middle one."""
        import numpy as np  # noqa: PLC0415  start-up time

        spans = self._spans
        if not spans or spans[-1].end - spans[0].start <= size:
            return max(0, self._in_text(0))
        wide = max(1, len(spans) * size // (spans[-1].end - spans[0].start))
        windows = np.lib.stride_tricks.sliding_window_view(self._cosines, wide, axis=1)
        answered = self._weights @ windows.max(axis=2)
        best = np.flatnonzero(answered >= answered.max() - NEARLY)
        together = best[: 1 + int(np.argmax(np.append(np.diff(best) > 1, True)))]
        return max(0, self._in_text(spans[int(together[len(together) // 2])].start))

    def _in_text(self, place: int) -> int:
        """Translate an offset in the passage to one in the memory's text."""
        return self._start + place + self._lead - self._title


def _add_words(term: Term, words: str) -> Term:
    """Return the term with these words at its MaxSim part."""
    if term.name == MAXSIM:
        return structs.replace(term, how=f"{term.how}: {words}")
    return structs.replace(term, parts=tuple(_add_words(part, words) for part in term.parts))


def _word(text: str, span: Span) -> str:
    """Return the whole word that a token is part of."""
    for found in WORD.finditer(text, max(0, span.start - 40)):
        if found.end() > span.start:
            return found[0] if found.start() < span.end else text[span.start : span.end]
    return text[span.start : span.end]
