"""What an expression finds in the segments of an index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from recollect.deadline import NO_DEADLINE, Deadline
from recollect.store.sqlite.packed.base import NO_HITS, Hits
from recollect.store.sqlite.packed.occurrences import Occurring, mask
from recollect.store.sqlite.packed.phrases import (
    Branch,
    Leaf,
    Node,
    Phrase,
    is_miscounted,
    leaves,
)
from recollect.store.sqlite.packed.segmented import SegmentedSearch

Mask = NDArray[np.bool_]


class SegmentMatches(NamedTuple):
    """`matched`: which documents match, None for those that any phrase hits. `holding`: how many
    documents hold each phrase. `hits`: where each phrase counts. `miscounted`: FTS5 counts them
    elsewhere."""

    matched: Mask | None
    holding: list[int]
    hits: list[Hits]
    miscounted: bool = False


def counted(segments: SegmentedSearch, node: Node, columns: int) -> list[int]:
    """How many documents of the segments hold each phrase."""
    occurring = Occurring(segments, (1.0,) * columns)
    return _holding(occurring, node)


def evaluated(
    segments: SegmentedSearch,
    node: Node,
    weights: Sequence[float],
    deadline: Deadline = NO_DEADLINE,
) -> SegmentMatches:
    """Return what the expression finds in the segments; raise DeadlineOver at the deadline."""
    occurring = Occurring(segments, weights, deadline)
    holding = _holding(occurring, node)
    if _any_of(node, weights):
        hits = [
            NO_HITS if leaf.nothing else occurring.hits(leaf.phrases[0], leaf.columns)
            for leaf in leaves(node)
        ]
        return SegmentMatches(None, holding, hits)
    evaluation = _Evaluation(segments, occurring)
    found = evaluation.found(node)
    hits = [hits.among(found.matched) for hits in found.hits]
    miscounted = is_miscounted(node, lambda side: bool(evaluation.found(side).matched.any()))
    return SegmentMatches(found.matched, holding, hits, miscounted)


def visited(
    segments: SegmentedSearch, node: Node, weights: Sequence[float], deadline: Deadline
) -> list[int]:
    """Return the keys of the live memories in segments at which FTS5 looks: each holds all words of
    a phrase or of a NEAR."""
    occurring = Occurring(segments, weights, deadline)
    size = len(segments.keys)
    marked = np.zeros(size, bool)
    for leaf in leaves(node):
        words = {token for phrase in leaf.phrases for token in phrase.tokens}
        hits = [occurring.hits(Phrase((token,), False, ()), None) for token in words]
        marked |= bool(words) & np.logical_and.reduce([mask(one.documents, size) for one in hits])
    keys: list[int] = segments.keys[marked].tolist()
    return keys


def _any_of(node: Node, weights: Sequence[float]) -> bool:
    """Whether a document matches if any phrase is there, and scores more than 0 then."""
    sides = node.sides if isinstance(node, Branch) and node.operator == "OR" else [node]
    return all(
        isinstance(side, Leaf)
        and len(side.phrases) == 1
        and all(weights[column] > 0 for column in side.columns or range(len(weights)))
        for side in sides
    )


def _holding(occurring: Occurring, node: Node) -> list[int]:
    return [
        0 if leaf.nothing else len(occurring.hits(phrase, leaf.columns).documents)
        for leaf in leaves(node)
        for phrase in leaf.phrases
    ]


class _Found(NamedTuple):
    matched: Mask
    hits: list[Hits]


class _Evaluation:
    """A phrase counts where everything matches that it is part of."""

    def __init__(self, segments: SegmentedSearch, occurring: Occurring) -> None:
        self._size = len(segments.keys)
        self._live = segments.live
        self._occurring = occurring

    def found(self, node: Node) -> _Found:
        if isinstance(node, Leaf):
            return self._leaf(node)
        sides = [self.found(side) for side in node.sides]
        masks = [side.matched for side in sides]
        hits = [one for side in sides for one in side.hits]
        if node.operator == "OR":
            return _Found(np.logical_or.reduce(masks), hits)
        both = node.operator == "AND"
        matched = np.logical_and.reduce(masks) if both else masks[0] & ~masks[1]
        return _Found(matched, [one.among(matched) for one in hits])

    def _leaf(self, leaf: Leaf) -> _Found:
        if leaf.nothing:
            return _Found(np.zeros(self._size, bool), [NO_HITS] * len(leaf.phrases))
        if len(leaf.phrases) == 1:
            hits = [self._occurring.hits(leaf.phrases[0], leaf.columns)]
        else:
            near = self._occurring.near(leaf)
            hits = [self._occurring.counted(some).among(self._live) for some in near]
        return _Found(mask(hits[0].documents, self._size), hits)
