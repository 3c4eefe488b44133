"""How much of a query's words its candidates hold, each word counted by its rarity."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
from operator import mul

from recollect.query.exact import folded
from recollect.query.function_words import content_words, without_asking
from recollect.query.memory_text import MemoryText
from recollect.query.subwords import pairs, unspaced_runs
from recollect.query.terms import STOP_WORDS, WORD, composed
from recollect.query.understanding import Understanding, inverse_frequency

# Words stand together within so many stems: two sentences.
WINDOW = 20
# A word with the vowel signs of Indic and South-East Asian scripts, where the index splits it.
WHOLE = re.compile("\\w[\\w\u0900-\u0963\u0966-\u109f\u1780-\u17d3]+")
# A pair of characters tells Chinese texts apart; of an alphabet, which ends here, it takes more.
ALPHABETS_END = "\u1800"
LETTERS = 4


class WordCoverage:
    """What texts hold of a query's words. A word that stands nowhere in the vault is the rarest,
    and in no text, unless a typing error made it of one that is. A run without spaces weighs as
    much as the words that it may be."""

    def __init__(
        self, query: Understanding, words: Sequence[str], texts: Sequence[MemoryText]
    ) -> None:
        asked = content_words(words)
        self._texts = texts
        self._weights = [query.rarity(word) * max(1, len(_grams(word)) / 2) for word in asked]
        self._shares = [_shares(word, query, texts) for word in asked]
        self._known = [word in query.frequencies for word in asked]
        self._stems = [query.stems_of(word) for word in asked]
        self._total = sum(self._weights)
        self._rarest = inverse_frequency(query.documents, 0)

    @property
    def shares(self) -> list[float]:
        """For each text the share of the words that it holds."""
        return [self._share(row[at] for row in self._shares) for at in range(len(self._texts))]

    @property
    def known(self) -> float:
        """The share of the words that stand anywhere."""
        return self._share(
            max([known, *shares]) for known, shares in zip(self._known, self._shares, strict=True)
        )

    @property
    def near(self) -> list[float]:
        """For each text the share of the words that it holds within a window."""
        words_of: dict[str, list[int]] = {}
        for number, stems in enumerate(self._stems):
            for stem in stems:
                words_of.setdefault(stem, []).append(number)
        return [self._together(text.stems, words_of) for text in self._texts]

    @property
    def size(self) -> float:
        """How many of the rarest words the query's are worth."""
        return self._total / self._rarest

    def _together(self, stems: Sequence[str], words_of: Mapping[str, Sequence[int]]) -> float:
        last = [-WINDOW] * len(self._weights)
        windows = set()
        for place, stem in compress(enumerate(stems), map(words_of.__contains__, stems)):
            for number in words_of[stem]:
                last[number] = place
            windows.add(tuple([place - at < WINDOW for at in last]))
        return max(map(self._share, windows), default=0.0)

    def _share(self, shares: Iterable[float]) -> float:
        return sum(map(mul, self._weights, shares)) / self._total if self._total else 0.0


def whole_words(text: str) -> list[str]:
    """The different keywords of a text, each with its vowel signs."""
    found = (word.lower() for word in WHOLE.findall(composed(text)))
    return list(dict.fromkeys(word for word in found if word not in STOP_WORDS))


def _grams(word: str) -> list[list[str]]:
    """The pieces of an unspaced word, each by its pairs of characters: a pair of Chinese, Japanese
    and Korean, four letters of an alphabet. Empty for words between spaces."""
    return [
        found[at : at + size]
        for run in unspaced_runs(word)
        for piece in without_asking(run)
        for found, size in [(pairs(piece), LETTERS - 1 if piece < ALPHABETS_END else 1)]
        for at in range(max(1, len(found) - size + 1))
    ]


def _shares(word: str, query: Understanding, texts: Sequence[MemoryText]) -> list[float]:
    """How much of a word each text holds: all or nothing, but of a run of words without spaces
    between them the share of its pieces, each counted by its rarity among the texts."""
    if WORD.fullmatch(word):
        forms = [query.stems_of(form) for form in (word, *query.also(word))]
        whole = [float(any(stems <= text.every_stem for stems in forms)) for text in texts]
    else:
        whole = [float(folded(word) in text.folded) for text in texts]
    grams = _grams(word)
    if not grams or all(whole):
        return whole
    stems = [text.every_stem.union(text.subwords) for text in texts]
    rows = [[text.issuperset(gram) for text in stems] for gram in grams]
    weights = [inverse_frequency(len(texts), sum(row)) for row in rows]
    return [
        max(share, sum(w for w, row in zip(weights, rows, strict=True) if row[at]) / sum(weights))
        for at, share in enumerate(whole)
    ]
