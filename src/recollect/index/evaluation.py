"""Evaluating a match expression over the segments of an index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.deadline import NO_DEADLINE, Deadline
from recollect.index.phrases import Branch, Leaf, Node, Phrase, PhraseToken, is_miscounted, leaves
from recollect.index.postings import Postings
from recollect.index.segments import NO_HITS, DocumentNumbers, Hits, SegmentedSearch

# An occurrence as one number: the document, the column, and the position in it. Positions of one
# column are next to each other, and no sum or difference of positions reaches another column.
COLUMN, DOCUMENT = 32, 36
Occurrences = NDArray[np.int64]
Columns = frozenset[int] | None
Mask = NDArray[np.bool_]


class PhraseOccurrences:
    """The phrases of an expression in the segments; what is read once is kept. Raises DeadlineOver
    at the deadline, which is checked before each word and each phrase."""

    def __init__(
        self,
        segments: SegmentedSearch,
        weights: Sequence[float],
        deadline: Deadline = NO_DEADLINE,
    ) -> None:
        self._segments = segments
        self._check = deadline.check
        self._weights = np.array(weights, np.float64)
        self._hits: dict[tuple[tuple[PhraseToken, ...], bool, Columns], Hits] = {}
        self._read: dict[tuple[PhraseToken, Columns], Occurrences] = {}
        self._documents: dict[str, DocumentNumbers] = {}

    def match(self, node: Node) -> tuple[Mask, list[Hits]]:
        """Return the matching documents, and each phrase's hits in the matches of its parents."""
        if isinstance(node, Branch):
            matches = [self.match(side) for side in node.sides]
            masks = [matched for matched, _ in matches]
            hits = [one for _, each in matches for one in each]
            if node.operator == "OR":
                return np.logical_or.reduce(masks), hits
            both = node.operator == "AND"
            matched = np.logical_and.reduce(masks) if both else masks[0] & ~masks[1]
            return matched, [one.among(matched) for one in hits]
        size = len(self._segments.keys)
        if node.nothing:
            return np.zeros(size, bool), [NO_HITS] * len(node.phrases)
        if len(node.phrases) == 1:
            hits = [self.hits(node.phrases[0], node.columns)]
        else:
            near = self.near(node)
            hits = [self.count_by_document(some).among(self._segments.live) for some in near]
        return mask(hits[0].documents, size), hits

    def hits(self, phrase: Phrase, columns: Columns) -> Hits:
        """Return the live documents that hold the phrase, with its frequency in each."""
        key = (phrase.tokens, phrase.first, columns)
        if key not in self._hits:
            self._check()
            if phrase.single:
                found = self._count_token(phrase.tokens[0], columns)
            else:
                found = self.count_by_document(self.phrase(phrase, columns))
            self._hits[key] = found.among(self._segments.live)
        return self._hits[key]

    def count_by_document(self, places: Occurrences) -> Hits:
        if not len(places):
            return NO_HITS
        documents = places >> DOCUMENT
        starts = np.flatnonzero(np.diff(documents, prepend=-1))
        weights = self._weights[(places >> COLUMN) & 15]
        return Hits(documents[starts], (1.0, np.add.reduceat(weights, starts)))

    def phrase(self, phrase: Phrase, columns: Columns) -> Occurrences:
        """Return the occurrences of the phrase by their first token. Positions are not read for the
        many words that are in no segment, or never together in one document."""
        common = self._together(phrase.tokens)
        if common is not None and not len(common):
            return common
        every = [self._places(token, columns, common) for token in phrase.tokens]
        rarest = min(range(len(every)), key=lambda number: len(every[number]))
        found = every[rarest] - rarest
        for number in sorted(range(len(every)), key=lambda number: len(every[number])):
            if number != rarest:
                found = found[_contains(every[number], found + number)]
        return found[found & 0xFFFFFFFF == 0] if phrase.first else found

    def near(self, leaf: Leaf) -> list[Occurrences]:
        """Return the occurrences of each phrase in matches of NEAR, as FTS5 counts them
        (`fts5ExprNearIsMatch`): a phrase begins at most its size and the distance before the
        last."""
        found = [self.phrase(phrase, leaf.columns) for phrase in leaf.phrases]
        reaches = [len(phrase.tokens) + leaf.distance for phrase in leaf.phrases]
        lasts = np.sort(np.concatenate(found))  # where the last phrase of a match begins
        for every, reach in sorted(zip(found, reaches, strict=True), key=lambda pair: len(pair[0])):
            self._check()
            places = np.searchsorted(every, lasts, side="right")
            before = np.append(every, np.iinfo(np.int64).min)[places - 1]
            lasts = lasts[before >= lasts - reach]
        ends = np.append(lasts, np.iinfo(np.int64).max)
        return [
            every[ends[np.searchsorted(lasts, every)] <= every + reach]
            for every, reach in zip(found, reaches, strict=True)
        ]

    def _together(self, tokens: Sequence[PhraseToken]) -> DocumentNumbers | None:
        """Return the documents that hold all tokens but prefixes; None if all are prefixes."""
        common: DocumentNumbers | None = None
        for text in dict.fromkeys(token.text for token in tokens if not token.prefix):
            if text not in self._documents:
                postings = self._segments.postings(text)
                none = np.zeros(0, np.int64)
                self._documents[text] = none if postings is None else postings.documents
            documents = self._documents[text]
            common = documents if common is None else common[_contains(documents, common)]
            if not len(common):
                break
        return common

    def _count_token(self, token: PhraseToken, columns: Columns) -> Hits:
        """Return the documents that hold a token, with its frequency in each."""
        if token.prefix:
            return self._beginning(token.text, columns)
        postings = self._segments.postings(token.text)
        return NO_HITS if postings is None else self._weigh(postings, columns)

    def _beginning(self, start: str, columns: Columns) -> Hits:
        """Return the documents with tokens that begin with `start`, and their total frequency."""
        large, small = self._segments.cells(start)
        size = len(self._segments.keys)
        total, marked = np.zeros(size), np.zeros(size, bool)
        for postings in large:
            hits = self._weigh(postings, columns)
            total[hits.documents] += hits.frequencies()
            marked[hits.documents] = True
        if small is not None:
            documents, inside, times = small
            if columns is not None:
                kept = np.isin(inside, list(columns))
                documents, inside, times = documents[kept], inside[kept], times[kept]
            np.add.at(total, documents, times * self._weights[inside])
            marked[documents] = True
        matching = np.flatnonzero(marked)
        return Hits(matching, (1.0, total[matching]))

    def _weigh(self, postings: Postings, columns: Columns) -> Hits:
        every = zip(postings.columns, postings.frequencies, strict=True)
        counting = [pair for pair in every if columns is None or pair[0] in columns]
        counts = ((self._weights[column], times) for column, times in counting)
        hits = Hits(postings.documents, *counts)
        if len(counting) == len(postings.columns):
            return hits
        matching = np.zeros(len(hits.documents), bool)
        for _, times in counting:
            matching |= times > 0
        return hits.at(matching)

    def _places(
        self, token: PhraseToken, columns: Columns, common: DocumentNumbers | None
    ) -> Occurrences:
        """Return every occurrence of a token in these columns, in order; of a prefix only those in
        the documents that hold the other words."""
        self._check()
        if token.prefix:
            every = self._occurrences(self._segments.beginning(token.text), columns)
            if common is not None:
                every = every[mask(common, len(self._segments.keys))[every >> DOCUMENT]]
            return np.sort(every)
        if (token, columns) not in self._read:
            self._read[token, columns] = self._occurrences([token.text], columns)
        return self._read[token, columns]

    def _occurrences(self, texts: Sequence[str], columns: Columns) -> Occurrences:
        found = [
            places.documents.astype(np.int64) << DOCUMENT
            | places.columns.astype(np.int64) << COLUMN
            | places.positions
            for places in self._segments.places(texts)
        ]
        every = np.concatenate(found) if found else np.zeros(0, np.int64)
        if columns is not None:
            every = every[np.isin((every >> COLUMN) & 15, list(columns))]
        return every


def mask(documents: NDArray[np.integer], size: int) -> Mask:
    marked = np.zeros(size, bool)
    marked[documents] = True
    return marked


def _contains(every: Occurrences, wanted: Occurrences) -> NDArray[np.bool_]:
    """Return which of the wanted values are in `every`; both are in order."""
    places = np.searchsorted(every, wanted)
    return every.take(places, mode="clip") == wanted if len(every) else np.zeros(len(wanted), bool)


class SegmentMatches(NamedTuple):
    """`matched`: the documents that match; None for those that any phrase hits. `holding`: the
    number of documents with each phrase. `hits`: the documents in which each phrase counts.
    `miscounted`: FTS5 counts phrases elsewhere too."""

    matched: Mask | None
    holding: list[int]
    hits: list[Hits]
    miscounted: bool = False


def count_holding(segments: SegmentedSearch, node: Node, columns: int) -> list[int]:
    """Return how many documents of the segments hold each phrase."""
    occurring = PhraseOccurrences(segments, (1.0,) * columns)
    return _holding(occurring, node)


def evaluate(
    segments: SegmentedSearch,
    node: Node,
    weights: Sequence[float],
    deadline: Deadline = NO_DEADLINE,
) -> SegmentMatches:
    """Return the matches of the expression in the segments; raise DeadlineOver at the deadline."""
    occurring = PhraseOccurrences(segments, weights, deadline)
    holding = _holding(occurring, node)
    if _matches_any_phrase(node, weights):
        hits = [
            NO_HITS if leaf.nothing else occurring.hits(leaf.phrases[0], leaf.columns)
            for leaf in leaves(node)
        ]
        return SegmentMatches(None, holding, hits)
    matched, hits = occurring.match(node)
    hits = [each.among(matched) for each in hits]
    miscounted = is_miscounted(node, lambda side: bool(occurring.match(side)[0].any()))
    return SegmentMatches(matched, holding, hits, miscounted)


def visited_keys(
    segments: SegmentedSearch, node: Node, weights: Sequence[float], deadline: Deadline
) -> list[int]:
    """Return the live memories that FTS5 visits: each has all words of a phrase or of a NEAR."""
    occurring = PhraseOccurrences(segments, weights, deadline)
    size = len(segments.keys)
    marked = np.zeros(size, bool)
    for leaf in leaves(node):
        words = {token for phrase in leaf.phrases for token in phrase.tokens}
        hits = [occurring.hits(Phrase((token,), False, ()), None) for token in words]
        marked |= bool(words) & np.logical_and.reduce([mask(one.documents, size) for one in hits])
    keys: list[int] = segments.keys[marked].tolist()
    return keys


def _matches_any_phrase(node: Node, weights: Sequence[float]) -> bool:
    """Return True if any phrase makes a document match with a score above 0."""
    sides = node.sides if isinstance(node, Branch) and node.operator == "OR" else [node]
    return all(
        isinstance(side, Leaf)
        and len(side.phrases) == 1
        and all(weights[column] > 0 for column in side.columns or range(len(weights)))
        for side in sides
    )


def _holding(occurring: PhraseOccurrences, node: Node) -> list[int]:
    return [
        0 if leaf.nothing else len(occurring.hits(phrase, leaf.columns).documents)
        for leaf in leaves(node)
        for phrase in leaf.phrases
    ]
