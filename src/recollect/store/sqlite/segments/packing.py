"""Memories as the rows of a segment: tokenised by SQLite's own tokenizers, counted by numpy.

It needs no vault: an import packs in processes beside its own, and sends what `prepared` returns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.query.terms import tokens
from recollect.store.base import COLUMNS, KeywordIndexName
from recollect.store.prepared import Packed, PackedIndex, PreparedMemories
from recollect.store.sqlite import subwords
from recollect.store.sqlite.fts5_index import tokenizer
from recollect.store.sqlite.segments.postings import (
    DOCUMENT,
    Numbers,
    Occurrences,
    Places,
    encoded,
)
from recollect.types import Memory

FIELDS = (*COLUMNS["stemmed"], "details")  # of a memory, as the view `indexed` has them
SEMANTIC_FIELDS = [FIELDS.index(name) for name in ("title", "text", "context", "tags")]
SUBWORD_FIELDS = [FIELDS.index(name) for name in subwords.FIELDS]
# A token for every tokenizer, and hardly in any text. It stands between texts that are cut
# together: a call takes longer than most texts.
BETWEEN = "\U000fdcba"
TOGETHER = 4096  # texts: their tokens take some megabytes

Mask = NDArray[np.bool_]


def pack(memories: Iterable[Sequence[str]]) -> Packed:
    """Every index over these memories, each given by its FIELDS in order."""
    return prepared(memories, counting=False).indexes


def fields_of(memory: Memory) -> list[str]:
    """The FIELDS of a memory."""
    return [" ".join(memory.tags) if name == "tags" else getattr(memory, name) for name in FIELDS]


def prepared(memories: Iterable[Sequence[str]], *, counting: bool = True) -> PreparedMemories:
    """What a write of these memories needs, each given by its FIELDS in order: every index over
    them, and how many hold each TF-IDF token, unless that is not counted."""
    connection = apsw.Connection(":memory:")  # the tokens depend on no vault
    words, stems, parts = (
        Numbering(connection, index) for index in ("plain", "stemmed", "subwords")
    )
    rows = list(memories)
    texts = [*chain.from_iterable(rows)]
    plain = words.cut(texts)
    counts = _vocabulary(rows, plain, words) if counting else {}
    stemmed = by_stem(plain, texts, words, stems)
    columns = [subwords.row(*(row[number] for number in SUBWORD_FIELDS)) for row in rows]
    subword = parts.cut([*chain.from_iterable(columns)])
    every = np.ones(len(rows), np.bool_)
    detailed = np.array([bool(row[-1]) for row in rows], np.bool_)
    compound = np.array([any(texts) for texts in columns], np.bool_)
    indexes: Packed = {
        "stemmed": packed(stemmed, FIELDS, "stemmed", every, stems),
        "plain": packed(plain, FIELDS, "plain", every, words),
        "subwords": packed(subword, COLUMNS["subwords"], "subwords", compound, parts),
        "details": packed(stemmed, FIELDS, "details", detailed, stems),
    }
    return PreparedMemories([row[0] for row in rows], indexes, counts)


def _vocabulary(
    rows: Sequence[Sequence[str]], plain: TokenizedTexts, words: Numbering
) -> dict[str, int]:
    """How many of the memories hold each TF-IDF token. Those of an ASCII text without underscores
    are words of the plain index, which are counted quickly."""
    counts: Counter[str] = Counter()
    simple = np.ones(len(rows), np.bool_)
    for number, row in enumerate(rows):
        text = "\n".join([row[field] for field in SEMANTIC_FIELDS])
        if not text.isascii() or "_" in text:
            simple[number] = False
            counts.update(set(tokens(text)))
    semantic = np.zeros(len(FIELDS), np.bool_)
    semantic[SEMANTIC_FIELDS] = True
    held = np.repeat(np.outer(simple, semantic).ravel(), plain.counts)
    numbers = np.repeat(np.arange(plain.counts.size) // len(FIELDS), plain.counts)[held]
    pairs = np.sort(numbers << 32 | plain.tokens[held])
    once = pairs[np.diff(pairs, prepend=-1) != 0]
    holding = np.bincount(once & 0xFFFFFFFF, minlength=len(words)).tolist()
    found = {word: count for word, count in zip(words, holding, strict=True) if count}
    counts.update({word: found[word] for word in set(tokens("\n".join(found)))})
    return counts


class TokenizedTexts(NamedTuple):
    """Texts as the numbers of their tokens, one text behind the other."""

    tokens: Numbers
    counts: Numbers  # of each text


class Numbering(dict[str, int]):
    """The number of each token of an index, in the order in which they came."""

    def __init__(self, connection: apsw.Connection, index: KeywordIndexName) -> None:
        super().__init__({BETWEEN: 0})
        self._tokens = tokenizer(connection, index)

    def __missing__(self, token: str) -> int:
        number = self[token] = len(self)
        return number

    def cut(self, texts: Sequence[str]) -> TokenizedTexts:
        """The texts as numbers."""
        some = [self._cut(texts[at : at + TOGETHER]) for at in range(0, len(texts), TOGETHER)]
        if not some:
            return TokenizedTexts(np.zeros(0, np.int32), np.zeros(0, np.int64))
        return TokenizedTexts(*map(np.concatenate, zip(*some, strict=True)))

    def _cut(self, texts: Sequence[str]) -> TokenizedTexts:
        joined = f" {BETWEEN} ".join(texts)
        if joined.count(BETWEEN) >= len(texts):  # one of them has it
            each = [[self[token] for token in self._tokens(text)] for text in texts]
            flat = np.array([*chain.from_iterable(each)], np.int32)
            return TokenizedTexts(flat, np.array([*map(len, each)], np.int64))
        found = self._tokens(joined)
        numbers = np.fromiter(map(self.__getitem__, found), np.int32, len(found))
        inside = numbers != self[BETWEEN]
        ends = np.flatnonzero(~inside)
        return TokenizedTexts(numbers[inside], np.diff(ends, prepend=-1, append=len(numbers)) - 1)


def by_stem(
    plain: TokenizedTexts, texts: Sequence[str], words: Numbering, stems: Numbering
) -> TokenizedTexts:
    """The texts as numbers of stems. Cutting takes far longer than looking words up, so each word
    is stemmed once. Texts are cut again that have words which alone would be cut otherwise."""
    names = list(words)[1:]
    alone, again = stems.cut(names), words.cut(names)
    like, stem = np.zeros(len(names) + 1, np.bool_), np.zeros(len(names) + 1, np.int32)
    one = np.flatnonzero((alone.counts == 1) & (again.counts == 1))
    like[one + 1] = again.tokens[_starts(again.counts)[one]] == one + 1
    stem[one + 1] = alone.tokens[_starts(alone.counts)[one]]
    counts = plain.counts
    odd = np.zeros(len(counts), np.bool_)
    odd[np.repeat(np.arange(len(counts)), counts)[~like[plain.tokens]]] = True
    anew = stems.cut([text for text, is_odd in zip(texts, odd.tolist(), strict=True) if is_odd])
    new = counts.copy()
    new[odd] = anew.counts
    tokens = np.empty(int(new.sum()), np.int32)
    tokens[np.repeat(odd, new)] = anew.tokens
    tokens[np.repeat(~odd, new)] = stem[plain.tokens[np.repeat(~odd, counts)]]
    return TokenizedTexts(tokens, new)


def _starts(counts: Numbers) -> Numbers:
    return np.cumsum(counts) - counts


def packed(
    cut: TokenizedTexts,
    fields: Sequence[str],
    index: KeywordIndexName,
    documents: Mask,
    numbering: Numbering,
) -> PackedIndex:
    """The index of those documents that are marked, given the tokens of all their fields."""
    held = np.outer(documents, np.isin(fields, COLUMNS[index]))
    tokens = cut.tokens[np.repeat(held.ravel(), cut.counts)]
    cells = cut.counts[held.ravel()].reshape(-1, len(COLUMNS[index]))
    names = sorted(numbering)
    rank = np.empty(len(names), np.int64)
    rank[[numbering[name] for name in names]] = np.arange(len(names))
    return PackedIndex(
        np.flatnonzero(documents).astype(DOCUMENT).tobytes(),
        cells.sum(axis=1).astype(DOCUMENT).tobytes(),
        list(encoded(names, _sorted(rank[tokens], cells))),
    )


def _sorted(tokens: Numbers, cells: Numbers) -> Occurrences:
    counts = cells.ravel()
    positions = np.arange(len(tokens), dtype=np.int32)
    positions -= np.repeat(_starts(counts).astype(np.int32), counts)
    documents = np.repeat(np.arange(len(cells), dtype=np.int32), cells.sum(axis=1))
    columns = np.tile(np.arange(cells.shape[1], dtype=np.uint8), len(cells))
    # Sorting the numbers themselves takes a third of the time of finding their order.
    order = np.sort(tokens << 32 | np.arange(len(tokens)))
    numbers, order = order >> 32, order & 0xFFFFFFFF
    places = Places(documents[order], np.repeat(columns, counts)[order], positions[order])
    return Occurrences(numbers, places)
