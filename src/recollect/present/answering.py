"""Which words of a memory answer which words of a query, by the vectors of their tokens."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from msgspec import structs

from recollect.models.base import Tokenwise
from recollect.query.terms import WORD, english_words
from recollect.types import Memory, Span, Term

if TYPE_CHECKING:
    from recollect.context import SearchContext, WordByWord
    from recollect.models.base import Matrix

MAXSIM = "maxsim"  # the name of the feature
MOST_PAIRS = 3
NEARLY = 1e-6  # places whose answers differ by less are equally good


class WordPair(NamedTuple):
    """A word of the query, the word of the memory that answers it, and its share of MaxSim."""

    asked: str
    answer: str
    share: float


class Answering:
    """A memory beside a query: the passage that was compared, and its tokens."""

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
        """Where each token stands; nothing where the text was edited since it was compared."""
        spans = self._embedder.spans(self._text)
        return spans if len(spans) == self._cosines.shape[1] else []

    @cached_property
    def pairs(self) -> list[WordPair]:
        """The pairs that count most, the largest first."""
        if not self._spans:
            return []
        best = self._cosines.argmax(axis=1)
        counts = self._weights * self._cosines.max(axis=1)
        shares: dict[tuple[str, str], float] = defaultdict(float)
        for asked, answer, count in zip(self._asked, best.tolist(), counts.tolist(), strict=True):
            pair = _word(self._query, asked), _word(self._text, self._spans[answer])
            shares[pair] += max(count, 0.0)
        total = sum(shares.values()) or 1.0
        # A word such as "the" is answered by any text, and such a word answers nothing.
        telling = [pair for pair in shares if pair[0].lower() in self._keywords and _tells(*pair)]
        largest = sorted(telling, key=shares.__getitem__, reverse=True)[:MOST_PAIRS]
        return [WordPair(*pair, shares[pair] / total) for pair in largest]

    def explained(self, why: Term) -> Term:
        """The explanation of the memory's score with the pairs: `stay → token 31%, ...`."""
        pairs = self.pairs
        if not pairs:
            return why
        return _with_words(why, ", ".join(f"{words(pair)} {pair.share:.0%}" for pair in pairs))

    def place(self, size: int) -> int:
        """Return where in the memory's text the `size` characters begin whose tokens answer best;
        of equal places, the one in the middle."""
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
        """A place in the passage as one in the memory's text."""
        return self._start + place + self._lead - self._title


def answering(context: SearchContext, memories: Sequence[Memory]) -> dict[str, Answering]:
    """The memories that were compared with the query word by word."""
    known = context.compared
    return {one.id: Answering(context, one, known[one.id]) for one in memories if one.id in known}


def _with_words(term: Term, words: str) -> Term:
    """The term, with these words at its part that is MaxSim."""
    if term.name == MAXSIM:
        return structs.replace(term, how=f"{term.how}: {words}")
    return structs.replace(term, parts=tuple(_with_words(part, words) for part in term.parts))


def words(pair: WordPair) -> str:
    """Return a pair for people: `stay → token`, or the word where it is the same."""
    same = pair.asked.lower() == pair.answer.lower()
    return pair.asked if same else f"{pair.asked} → {pair.answer}"


def _tells(asked: str, answer: str) -> bool:
    return not {asked.lower(), answer.lower()} & english_words()


def _word(text: str, span: Span) -> str:
    """The whole word that a token is a part of."""
    for found in WORD.finditer(text, max(0, span.start - 40)):
        if found.end() > span.start:
            return found[0] if found.start() < span.end else text[span.start : span.end]
    return text[span.start : span.end]
