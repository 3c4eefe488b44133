"""Memories as the rows of a segment: tokenized by SQLite's own tokenizers, counted by numpy.

It needs no vault: an import packs in worker processes, which send what `prepare` returns.
"""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

import apsw
import numpy as np
from numpy.typing import NDArray

from recollect.index.postings import DOCUMENT, Numbers, Occurrences, Places, encode_rows
from recollect.query.subwords import subwords as of_text
from recollect.query.subwords import subwords_by_piece
from recollect.query.terms import DOTTED_I, STOP_WORDS, keywords
from recollect.store.base import COLUMNS, KeywordIndexName
from recollect.store.memory_rows import Packed, PackedIndex, PreparedMemories
from recollect.store.sqlite.fts5_index import (
    LONGEST,
    SUBWORD_FIELDS,
    has_subwords,
    subword_columns,
    tokenizer,
)
from recollect.types import Memory

FIELDS = (*COLUMNS["stemmed"], "details")  # of a memory, as in the view `indexed`
SEMANTIC_FIELDS = [FIELDS.index(name) for name in ("title", "text", "context", "tags")]
SUBWORD_PLACES = [FIELDS.index(name) for name in SUBWORD_FIELDS]
TAGS = FIELDS.index("tags")
_fields = attrgetter(*FIELDS)
# A token for every tokenizer, and hardly in any text. It separates texts that are tokenized
# together: a call takes longer than most texts.
BETWEEN = "\U000fdcba"
TOGETHER = 4096  # texts: their tokens take some megabytes

Mask = NDArray[np.bool_]


class TokenizedTexts(NamedTuple):
    """Texts as numbers, one after the other: those of its tokens, or of its pieces."""

    tokens: Numbers
    counts: Numbers  # of each text

    def spell(self, pieces: TokenizedTexts) -> TokenizedTexts:
        """Return these texts, given by their pieces, with each piece replaced by its tokens."""
        several = pieces.counts[self.tokens]
        return TokenizedTexts(pieces.take(self.tokens).tokens, sums(several, self.counts))

    def take(self, which: Numbers) -> TokenizedTexts:
        """Return some of these texts, in any order and any number of times."""
        counts = self.counts[which]
        places = np.repeat(starts(self.counts)[which] - starts(counts), counts)
        return TokenizedTexts(self.tokens[places + np.arange(len(places))], counts)

    def replace_marked(self, which: NDArray[np.bool_], by: TokenizedTexts) -> TokenizedTexts:
        """Return these texts with others in place of the marked ones."""
        counts = self.counts.copy()
        counts[which] = by.counts
        tokens = np.empty(int(counts.sum()), np.int32)
        tokens[np.repeat(which, counts)] = by.tokens
        tokens[np.repeat(~which, counts)] = self.tokens[np.repeat(~which, self.counts)]
        return TokenizedTexts(tokens, counts)

    def having(self, tokens: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return which texts have one of the marked tokens."""
        found = np.zeros(len(self.counts), np.bool_)
        found[np.repeat(np.arange(len(self.counts)), self.counts)[tokens[self.tokens]]] = True
        return found

    def tokens_of(self, which: NDArray[np.bool_], many: int) -> NDArray[np.bool_]:
        """Return which of `many` tokens the marked texts have."""
        found = np.zeros(many, np.bool_)
        found[self.tokens[np.repeat(which, self.counts)]] = True
        return found


def starts(counts: Numbers) -> Numbers:
    return np.cumsum(counts) - counts


def sums(numbers: Numbers, sizes: Numbers) -> Numbers:
    """Return the sums of consecutive groups of these sizes."""
    totals = np.concatenate([[0], np.cumsum(numbers)])
    ends = np.cumsum(sizes)
    found: Numbers = totals[ends] - totals[ends - sizes]
    return found


def sort_order(numbers: Numbers, below: int) -> Numbers:
    """Return the stable order of numbers below a bound. Numpy counts numbers of 16 bits, which
    takes a sixth of the time of comparing."""
    order = np.argsort(numbers.astype(np.uint16), kind="stable")
    if below > 1 << 16:
        above = (numbers >> 16).astype(np.uint16)
        order = order[np.argsort(above[order], kind="stable")]
    return order


def in_pieces(texts: Sequence[str]) -> tuple[list[str], TokenizedTexts]:
    """Return the different pieces, and the texts as their numbers. NUL ends a piece, as it ends a
    token.

    Whatever tokenizers, stems and subwords make of a piece is the same wherever it stands. In many
    memories a piece stands twenty times, so each is looked at once, and numpy puts the texts
    together again.
    """
    numbers: defaultdict[str, int] = defaultdict(lambda: len(numbers))
    tokens, counts = array("i"), array("q")
    for text in texts:
        pieces = text.replace("\0", " ").split()
        tokens.extend(map(numbers.__getitem__, pieces))
        counts.append(len(pieces))
    return [*numbers], TokenizedTexts(np.array(tokens, np.int32), np.array(counts, np.int64))


class SplitMemories(NamedTuple):
    """Memories, each given by its FIELDS; all their pieces; and their fields as numbers of
    these."""

    rows: list[Sequence[str]]
    pieces: list[str]
    texts: TokenizedTexts

    def having(self, pieces: Collection[int]) -> set[int]:
        marked = np.zeros(len(self.pieces), np.bool_)
        marked[[*pieces]] = True
        return {*(np.flatnonzero(self.texts.having(marked)) // len(FIELDS)).tolist()}

    def with_changes(self, changes: Mapping[int, Sequence[str] | None]) -> SplitMemories:
        """Return these memories with some of them changed, or left out if None."""
        new = split(row for row in changes.values() if row is not None)
        rows = [*self.rows, *new.rows]
        moved = iter(range(len(self.rows), len(rows)))
        at_end = {at: next(moved) for at, row in changes.items() if row is not None}
        which = [
            at_end.get(at, at) for at in range(len(self.rows)) if changes.get(at, "") is not None
        ]
        pieces = (self.texts.tokens, new.texts.tokens + len(self.pieces))
        counts = (self.texts.counts, new.texts.counts)
        texts = TokenizedTexts(np.concatenate(pieces), np.concatenate(counts))
        fields = np.array(which, np.int64)[:, None] * len(FIELDS) + np.arange(len(FIELDS))
        return SplitMemories(
            [rows[at] for at in which], self.pieces + new.pieces, texts.take(fields.ravel())
        )


def split(memories: Iterable[Sequence[str]]) -> SplitMemories:
    rows = list(memories)
    return SplitMemories(rows, *in_pieces([*chain.from_iterable(rows)]))


def pack(memories: Iterable[Sequence[str]]) -> Packed:
    """Return every index over these memories, each given by its FIELDS in order."""
    return prepare(memories, counting=False).indexes


def fields_of(memory: Memory) -> list[str]:
    fields = [*_fields(memory)]
    fields[TAGS] = " ".join(memory.tags)
    return fields


def columns_of(fields: Sequence[str], index: KeywordIndexName) -> Sequence[str] | None:
    """Return the columns of a memory, given by its FIELDS; None if the index has no such row."""
    if index == "subwords":
        columns = subword_columns(*(fields[at] for at in SUBWORD_PLACES))
        return columns if any(columns) else None
    columns = tuple(fields[FIELDS.index(name)] for name in COLUMNS[index])
    return None if index == "details" and not columns[0] else columns


def prepare(
    memories: Iterable[Sequence[str]] | SplitMemories, *, counting: bool = True
) -> PreparedMemories:
    """Return the index rows of these memories, each given by its FIELDS in order, and with
    `counting` how many hold each TF-IDF token."""
    connection = apsw.Connection(":memory:")  # tokens do not depend on the vault
    words, stems, parts = (
        Numbering(connection, index) for index in ("plain", "stemmed", "subwords")
    )
    rows, pieces, texts = memories if isinstance(memories, SplitMemories) else split(memories)
    plain = words.tokenize(pieces)
    stemmed = texts.spell(by_stem(plain, pieces, words, stems))
    every = np.ones(len(rows), np.bool_)
    detailed = np.array([bool(row[-1]) for row in rows], np.bool_)
    subword = _subwords(rows, pieces, texts, parts)
    compound: Mask = subword.counts.reshape(-1, len(COLUMNS["subwords"])).sum(axis=1) > 0
    indexes: Packed = {
        "stemmed": pack_index(stemmed, FIELDS, "stemmed", every, stems),
        "plain": pack_index(texts.spell(plain), FIELDS, "plain", every, words),
        "subwords": pack_index(subword, COLUMNS["subwords"], "subwords", compound, parts),
        "details": pack_index(stemmed, FIELDS, "details", detailed, stems),
    }
    counts = _vocabulary(rows, pieces, texts, plain, words) if counting else {}
    return PreparedMemories([row[0] for row in rows], indexes, counts)


def _vocabulary(
    rows: Sequence[Sequence[str]],
    pieces: Sequence[str],
    texts: TokenizedTexts,
    plain: TokenizedTexts,
    words: Numbering,
) -> dict[str, int]:
    """Return how many of the memories hold each TF-IDF token. For an ASCII piece without
    underscores, these are its words in the plain index. Other tokens are added to `words`."""
    semantic = np.zeros((len(rows), len(FIELDS)), np.bool_)
    semantic[:, SEMANTIC_FIELDS] = True
    odd = texts.tokens_of(semantic.ravel(), len(pieces))
    odd[odd] = [_is_odd(pieces[at]) for at in np.flatnonzero(odd).tolist()]
    each = [[words[token] for token in keywords(pieces[at])] for at in np.flatnonzero(odd).tolist()]
    by_piece = plain.replace_marked(odd, _flat(each))
    # If a text has this letter, all its words are put in lower case one by one.
    dotted = np.array([DOTTED_I in piece for piece in pieces], np.bool_)
    whole = texts.having(dotted).reshape(semantic.shape)[:, SEMANTIC_FIELDS].any(axis=1)
    semantic[whole] = False
    spelled = texts.spell(by_piece)
    counted = np.repeat(semantic.ravel(), spelled.counts)
    found = spelled.tokens[counted]
    numbers = np.repeat(np.arange(semantic.size) // len(FIELDS), spelled.counts)[counted]
    order = sort_order(found, len(words))
    found, numbers = found[order], numbers[order]
    once = found[(np.diff(found, prepend=-1) != 0) | (np.diff(numbers, prepend=-1) != 0)]
    holding = np.bincount(once, minlength=len(words)).tolist()
    counts = Counter(
        {  # sorted, as they are written
            word: count
            for word in sorted(words)
            if (count := holding[words[word]]) and len(word) > 1 and word not in STOP_WORDS
        }
    )
    for at in np.flatnonzero(whole).tolist():
        counts.update(set(keywords("\n".join([rows[at][field] for field in SEMANTIC_FIELDS]))))
    return counts


def _is_odd(piece: str) -> bool:
    return not piece.isascii() or "_" in piece or len(piece) >= LONGEST


def _subwords(
    rows: Sequence[Sequence[str]],
    pieces: Sequence[str],
    texts: TokenizedTexts,
    parts: Numbering,
) -> TokenizedTexts:
    """Return the memories' subwords by the columns of their index, like `subword_columns`."""
    included = np.zeros((len(rows), len(FIELDS)), np.bool_)
    included[:, SUBWORD_PLACES] = True
    included[:, 0] = [has_subwords(row[0]) for row in rows]
    used = np.flatnonzero(texts.tokens_of(included.ravel(), len(pieces)))
    found, unspaced = subwords_by_piece([pieces[at] for at in used.tolist()])
    by_piece, marked = np.zeros(len(pieces), np.int64), np.zeros(len(pieces), np.bool_)
    cut = parts.tokenize([" ".join(one) for one in found])
    by_piece[used], marked[used[unspaced]] = cut.counts, True
    spelled = texts.spell(TokenizedTexts(cut.tokens, by_piece))
    # In scripts without spaces, blanks between two pieces do not count.
    whole = texts.having(marked)
    each = [
        " ".join(of_text(rows[at // len(FIELDS)][at % len(FIELDS)]))
        for at in np.flatnonzero(whole).tolist()
    ]
    spelled = spelled.replace_marked(whole, parts.tokenize(each))
    kept = np.repeat(included.ravel(), spelled.counts)
    ordered = TokenizedTexts(spelled.tokens[kept], spelled.counts * included.ravel()).take(
        (np.arange(len(rows))[:, None] * len(FIELDS) + SUBWORD_PLACES).ravel()
    )
    cells = ordered.counts.reshape(-1, len(SUBWORD_PLACES))
    other = len(COLUMNS["subwords"]) - 1
    columns = np.column_stack([cells[:, :other], cells[:, other:].sum(axis=1)])
    return TokenizedTexts(ordered.tokens, columns.ravel())


def _flat(each: Sequence[Sequence[int]]) -> TokenizedTexts:
    flat = np.array([*chain.from_iterable(each)], np.int32)
    return TokenizedTexts(flat, np.array([*map(len, each)], np.int64))


class Numbering(dict[str, int]):
    """The number of each token of an index, in order of appearance."""

    def __init__(self, connection: apsw.Connection, index: KeywordIndexName) -> None:
        super().__init__({BETWEEN: 0})
        self._tokens = tokenizer(connection, index)

    def __missing__(self, token: str) -> int:
        number = self[token] = len(self)
        return number

    def tokenize(self, texts: Sequence[str]) -> TokenizedTexts:
        some = [self._tokenize(texts[at : at + TOGETHER]) for at in range(0, len(texts), TOGETHER)]
        if not some:
            return TokenizedTexts(np.zeros(0, np.int32), np.zeros(0, np.int64))
        return TokenizedTexts(*map(np.concatenate, zip(*some, strict=True)))

    def _tokenize(self, texts: Sequence[str]) -> TokenizedTexts:
        joined = f" {BETWEEN} ".join(texts)
        if joined.count(BETWEEN) >= len(texts):  # one of them has it
            return _flat([[self[token] for token in self._tokens(text)] for text in texts])
        found = self._tokens(joined)
        numbers = np.fromiter(map(self.__getitem__, found), np.int32, len(found))
        inside = numbers != self[BETWEEN]
        ends = np.flatnonzero(~inside)
        return TokenizedTexts(numbers[inside], np.diff(ends, prepend=-1, append=len(numbers)) - 1)


def by_stem(
    plain: TokenizedTexts, texts: Sequence[str], words: Numbering, stems: Numbering
) -> TokenizedTexts:
    """Return the texts as numbers of stems. Each word is stemmed once, since tokenizing is slow.
    Texts are tokenized again if a word in them would be split differently alone."""
    names = list(words)[1:]
    alone, again = stems.tokenize(names), words.tokenize(names)
    like, stem = np.zeros(len(names) + 1, np.bool_), np.zeros(len(names) + 1, np.int32)
    single = np.flatnonzero((alone.counts == 1) & (again.counts == 1))
    like[single + 1] = again.tokens[starts(again.counts)[single]] == single + 1
    stem[single + 1] = alone.tokens[starts(alone.counts)[single]]
    odd = plain.having(~like)
    odd_stems = stems.tokenize(
        [text for text, is_odd in zip(texts, odd.tolist(), strict=True) if is_odd]
    )
    return TokenizedTexts(stem[plain.tokens], plain.counts).replace_marked(odd, odd_stems)


def pack_index(
    cut: TokenizedTexts,
    fields: Sequence[str],
    index: KeywordIndexName,
    documents: Mask,
    numbering: Numbering,
) -> PackedIndex:
    """Return the index of the marked documents, given the tokens of all their fields."""
    if not documents.any():
        return PackedIndex(b"", b"", [])
    included = np.outer(documents, np.isin(fields, COLUMNS[index]))
    tokens = cut.tokens[np.repeat(included.ravel(), cut.counts)]
    cells = cut.counts[included.ravel()].reshape(-1, len(COLUMNS[index]))
    names = sorted(numbering)
    rank = np.empty(len(names), np.int64)
    rank[[*map(numbering.__getitem__, names)]] = np.arange(len(names))
    return PackedIndex(
        np.flatnonzero(documents).astype(DOCUMENT).tobytes(),
        cells.sum(axis=1).astype(DOCUMENT).tobytes(),
        encode_rows(names, _to_occurrences(rank[tokens], cells, len(names))),
    )


def _to_occurrences(tokens: Numbers, cells: Numbers, below: int) -> Occurrences:
    counts = cells.ravel()
    positions = np.arange(len(tokens), dtype=np.int32)
    positions -= np.repeat(starts(counts).astype(np.int32), counts)
    documents = np.repeat(np.arange(len(cells), dtype=np.int32), cells.sum(axis=1))
    columns = np.tile(np.arange(cells.shape[1], dtype=np.uint8), len(cells))
    order = sort_order(tokens, below)
    places = Places(documents[order], np.repeat(columns, counts)[order], positions[order])
    return Occurrences(tokens[order], places)
