"""Memories as the rows of a segment: tokenised by SQLite's own tokenizers, counted by numpy.

It needs no vault: an import packs in processes beside its own, and sends what `pack` returns.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import apsw
import numpy as np

from recollect.store.base import COLUMNS, KeywordIndexName
from recollect.store.sqlite import subwords
from recollect.store.sqlite.fts5_index import tokenizer
from recollect.store.sqlite.segments.postings import (
    DOCUMENT,
    Numbers,
    Occurrences,
    Places,
    Row,
    encoded,
)

FIELDS = (*COLUMNS["stemmed"], "details")  # of a memory, as the view `indexed` has them

Tokenizer = Callable[[str], list[str]]


class PackedIndex(NamedTuple):
    """One index of a segment. `documents`: which of the packed memories it holds, by their place in
    the input, and `lengths`: the tokens of each, both as uint32."""

    documents: bytes
    lengths: bytes
    rows: list[Row]


Packed = dict[KeywordIndexName, PackedIndex]


def pack(memories: Iterable[Sequence[str]]) -> Packed:
    """Every index over these memories, each given by its FIELDS in order."""
    connection = apsw.Connection(":memory:")  # the tokens depend on no vault
    words, parts = Words(connection), Numbering(tokenizer(connection, "subwords"))
    stemmed, plain, subword, details = (Builder(len(columns)) for columns in COLUMNS.values())
    for document, values in enumerate(memories):
        fields = dict(zip(FIELDS, values, strict=True))
        numbers = {name: words.of(text) for name, text in fields.items()}
        plain.add(document, [numbers[name] for name in COLUMNS["plain"]])
        if words.unlike:
            numbers = {name: words.by_stem(numbers[name], fields[name]) for name in FIELDS}
        stemmed.add(document, [numbers[name] for name in COLUMNS["stemmed"]])
        if fields["details"]:
            details.add(document, [numbers["details"]])
        pieces = subwords.row(*(fields[name] for name in subwords.FIELDS))
        if any(pieces):
            subword.add(document, list(map(parts.of, pieces)))
    return {
        "stemmed": stemmed.packed(words.stems),
        "plain": plain.packed(list(words)),
        "subwords": subword.packed(list(parts)),
        "details": details.packed(words.stems),
    }


class Numbering(dict[str, int]):
    """The number of each token, in the order in which they came."""

    def __init__(self, cut: Tokenizer) -> None:
        self._cut = cut

    def of(self, text: str) -> array[int]:
        """The numbers of the text's tokens."""
        return array("i", map(self.__getitem__, self._cut(text))) if text else array("i")

    def __missing__(self, token: str) -> int:
        number = self[token] = len(self)
        return number


class Words(Numbering):
    """Words as the plain index has them, and the stem of each. Cutting a text takes far longer than
    looking its words up, so it is cut once for both, and each word is stemmed once."""

    def __init__(self, connection: apsw.Connection) -> None:
        super().__init__(tokenizer(connection, "plain"))
        self._stemmed = tokenizer(connection, "stemmed")
        self.stems: list[str] = []  # by number
        self.unlike: set[int] = set()  # words that alone would not be cut as in their text

    def __missing__(self, token: str) -> int:
        number = super().__missing__(token)
        found = self._stemmed(token)
        self.stems.append(found[0] if found else "")
        if len(found) != 1 or self._cut(token) != [token]:
            self.unlike.add(number)
        return number

    def by_stem(self, numbers: array[int], text: str) -> array[int]:
        """Numbers whose stems are the text's, given its words' numbers."""
        if self.unlike.isdisjoint(numbers):
            return numbers
        return array("i", map(self._as_stem, self._stemmed(text)))

    def _as_stem(self, stem: str) -> int:
        """The number of a stem that no word stands for; no word holds a NUL."""
        name = f"\0{stem}"
        if name not in self:
            self[name] = len(self)
            self.stems.append(stem)
        return self[name]


class Builder:
    """Collects the tokens of one index."""

    def __init__(self, columns: int) -> None:
        self._columns = columns
        self._tokens = array("i")
        self._documents = array("i")
        self._cells = array("i")  # how many tokens each column of each document has

    def add(self, document: int, columns: Sequence[array[int]]) -> None:
        self._documents.append(document)
        self._cells.extend(map(len, columns))
        for numbers in columns:
            self._tokens += numbers

    def packed(self, tokens: Sequence[str]) -> PackedIndex:
        """The index, where the tokens have these texts."""
        cells = np.frombuffer(self._cells, np.int32).reshape(-1, self._columns)
        names = sorted(set(tokens))
        rank = dict(zip(names, range(len(names)), strict=True))
        ranks = np.array([rank[token] for token in tokens], np.int32)
        return PackedIndex(
            np.frombuffer(self._documents, np.int32).astype(DOCUMENT).tobytes(),
            cells.sum(axis=1).astype(DOCUMENT).tobytes(),
            list(encoded(names, self._sorted(cells, ranks))),
        )

    def _sorted(self, cells: Numbers, ranks: Numbers) -> Occurrences:
        counts = cells.ravel()
        positions = np.arange(len(self._tokens), dtype=np.int32)
        positions -= np.repeat((np.cumsum(counts) - counts).astype(np.int32), counts)
        documents = np.repeat(np.arange(len(cells), dtype=np.int32), cells.sum(axis=1))
        columns = np.tile(np.arange(self._columns, dtype=np.uint8), len(cells))
        numbers = ranks[np.frombuffer(self._tokens, np.int32)]
        order = np.argsort(numbers, kind="stable")
        places = Places(documents[order], np.repeat(columns, counts)[order], positions[order])
        return Occurrences(numbers[order], places)
