"""Texts by their pieces: what stands between blanks, each different piece once.

Whatever tokenizers, stems and subwords make of a piece is the same wherever it stands. In many
memories a piece stands twenty times, so each is looked at once, and numpy puts the texts together
again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.store.sqlite.segments.postings import Numbers

BLANKS = b"\t\n\v\f\r "
END = 0  # the byte behind each text
SEPARATES = bytes(byte in (END, *BLANKS) for byte in range(256))
TOGETHER = 65_536  # texts whose pieces are compared at once: those of 6,000 memories
WIDTH = 8  # bytes that are compared at a time
# The bytes of a word of eight that belong to a piece of which so many are left.
MASKS = np.array([(1 << 8 * min(left, WIDTH)) - 1 for left in range(WIDTH + 1)], "<u8")
MIXING = np.uint64(0x9E3779B97F4A7C15)

Words = NDArray[np.uint64]


class TokenizedTexts(NamedTuple):
    """Texts as numbers, one text behind the other: those of its tokens, or of its pieces."""

    tokens: Numbers
    counts: Numbers  # of each text

    def spelled(self, pieces: TokenizedTexts) -> TokenizedTexts:
        """These texts, which are given by their pieces, as what each piece is made of."""
        several = pieces.counts[self.tokens]
        return TokenizedTexts(pieces.taken(self.tokens).tokens, sums(several, self.counts))

    def taken(self, which: Numbers) -> TokenizedTexts:
        """Some of these texts, in any order and any number of times."""
        counts = self.counts[which]
        places = np.repeat(starts(self.counts)[which] - starts(counts), counts)
        return TokenizedTexts(self.tokens[places + np.arange(len(places))], counts)

    def replaced(self, which: NDArray[np.bool_], by: TokenizedTexts) -> TokenizedTexts:
        """These texts with others instead of those that are marked."""
        counts = self.counts.copy()
        counts[which] = by.counts
        tokens = np.empty(int(counts.sum()), np.int32)
        tokens[np.repeat(which, counts)] = by.tokens
        tokens[np.repeat(~which, counts)] = self.tokens[np.repeat(~which, self.counts)]
        return TokenizedTexts(tokens, counts)

    def having(self, tokens: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Which texts have one of the tokens that are marked."""
        found = np.zeros(len(self.counts), np.bool_)
        found[np.repeat(np.arange(len(self.counts)), self.counts)[tokens[self.tokens]]] = True
        return found

    def tokens_of(self, which: NDArray[np.bool_], many: int) -> NDArray[np.bool_]:
        """Which of so many tokens the texts have that are marked."""
        found = np.zeros(many, np.bool_)
        found[self.tokens[np.repeat(which, self.counts)]] = True
        return found


def starts(counts: Numbers) -> Numbers:
    """Where each text begins."""
    return np.cumsum(counts) - counts


def sums(numbers: Numbers, sizes: Numbers) -> Numbers:
    """The sum of so many numbers, then of so many that follow, and so on."""
    totals = np.concatenate([[0], np.cumsum(numbers)])
    ends = np.cumsum(sizes)
    found: Numbers = totals[ends] - totals[ends - sizes]
    return found


def ordered(numbers: Numbers, below: int) -> Numbers:
    """The order of numbers that are all below another, equal ones as they stand. Numpy counts where
    there are 16 bits, which takes a sixth of the time of comparing."""
    order = np.argsort(numbers.astype(np.uint16), kind="stable")
    if below > 1 << 16:
        above = (numbers >> 16).astype(np.uint16)
        order = order[np.argsort(above[order], kind="stable")]
    return order


def in_pieces(texts: Sequence[str]) -> tuple[list[str], TokenizedTexts]:
    """The different pieces, and the texts as their numbers."""
    numbers: dict[str, int] = {}
    tokens: list[Numbers] = [np.zeros(0, np.int32)]
    counts: list[Numbers] = [np.zeros(0, np.int64)]
    for at in range(0, len(texts), TOGETHER):
        pieces, some = _in_pieces(texts[at : at + TOGETHER])
        known = [numbers.setdefault(piece, len(numbers)) for piece in pieces]
        tokens.append(np.array(known, np.int32)[some.tokens])
        counts.append(some.counts)
    return [*numbers], TokenizedTexts(np.concatenate(tokens), np.concatenate(counts))


def _in_pieces(texts: Sequence[str]) -> tuple[list[str], TokenizedTexts]:
    joined = "\0".join([*texts, ""])
    if joined.count("\0") > len(texts):  # as tokenizers do, which end a token there
        joined = "\0".join([text.replace("\0", " ") for text in [*texts, ""]])
    raw = joined.encode(errors="surrogatepass") + bytes(WIDTH)  # eight behind each are read
    separates = np.frombuffer(raw.translate(SEPARATES), np.bool_)
    edges = np.flatnonzero(np.diff(separates, prepend=True))
    first, behind = edges[::2].copy(), edges[1::2]
    ends = np.flatnonzero(np.frombuffer(raw[:-WIDTH], np.uint8) == END)
    counts = np.diff(np.searchsorted(first, ends), prepend=0)
    number, example = _distinct(raw, first, behind - first)
    pieces = [
        raw[start:end].decode(errors="surrogatepass")
        for start, end in zip(first[example].tolist(), behind[example].tolist(), strict=True)
    ]
    return pieces, TokenizedTexts(number, counts)


def _distinct(raw: bytes, first: Numbers, lengths: Numbers) -> tuple[Numbers, Numbers]:
    """A number for each piece, the same for the same bytes, and for each number one such piece."""
    words: Words = np.ndarray((len(raw) - WIDTH + 1,), "<u8", raw, strides=(1,))
    hashes = np.zeros(len(first), np.uint64)
    for at, those in _by_word(lengths):
        mixed = (hashes[those] ^ _masked(words[first[those] + at], lengths[those] - at)) * MIXING
        hashes[those] = mixed ^ mixed >> np.uint64(29)
    number, example = _numbered(hashes)
    if _same(words, first, lengths, example[number]):
        return number, example
    return _looked_up(raw, first, lengths)


def _numbered(hashes: Words) -> tuple[Numbers, Numbers]:
    """A number for each hash, the same for the same one, and for each number a place where it is.
    All are put into a table by some of their bits: who finds its own hash there is done, the others
    try again with other bits. That takes a fraction of the time of sorting them."""
    places = left = np.arange(len(hashes))
    found = np.empty_like(places)  # for all that have one hash, the same place
    mixed = hashes
    while len(left):
        bits = len(left).bit_length() + 1
        slots = (mixed >> np.uint64(64 - bits)).astype(np.int64)
        table = np.empty(1 << bits, np.int64)
        table[slots] = left
        there = table[slots]
        other = hashes[there] != hashes[left]
        found[left] = there
        left, mixed = left[other], mixed[other] * MIXING
    first = found == places
    return (np.cumsum(first) - 1)[found], np.flatnonzero(first)


def _same(words: Words, first: Numbers, lengths: Numbers, other: Numbers) -> bool:
    """Whether each piece is what another one is, byte by byte."""
    elsewhere = first[other]
    return np.array_equal(lengths, lengths[other]) and not any(
        _masked(words[first[those] + at] ^ words[elsewhere[those] + at], lengths[those] - at).any()
        for at, those in _by_word(lengths)
    )


def _masked(words: Words, left: Numbers) -> Words:
    """The words without the bytes that are not of their pieces, of which so many are left."""
    masked: Words = words & MASKS[np.minimum(left, WIDTH)]
    return masked


def _by_word(lengths: Numbers) -> Iterator[tuple[int, slice | Numbers]]:
    """How far the pieces are read already, and which of them go on."""
    yield 0, slice(None)
    at, those = WIDTH, np.flatnonzero(lengths > WIDTH)
    while len(those):
        yield at, those
        at += WIDTH
        those = those[lengths[those] > at]


def _looked_up(raw: bytes, first: Numbers, lengths: Numbers) -> tuple[Numbers, Numbers]:
    """The same by a dictionary: for two pieces that have one hash."""
    numbers: dict[bytes, int] = {}
    example: list[int] = []
    number = np.empty(len(first), np.int64)
    for place, (start, length) in enumerate(zip(first.tolist(), lengths.tolist(), strict=True)):
        piece = raw[start : start + length]
        if piece not in numbers:
            numbers[piece] = len(numbers)
            example.append(place)
        number[place] = numbers[piece]
    return number, np.array(example, np.int64)
