"""`proximity`: words that stand together in the query and in the memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import pairwise

from recollect.context import SearchContext
from recollect.recipes.ranges import AtLeastOne
from recollect.signals.base import Signal, Value


def places(wanted: Set[str], stems: Sequence[str]) -> dict[str, list[int]]:
    """Where each of the wanted stems stands."""
    found: dict[str, list[int]] = {stem: [] for stem in wanted}
    for place, stem in enumerate(stems):
        if stem in found:
            found[stem].append(place)
    return found


def together(first: Sequence[int], second: Sequence[int], within: int) -> bool:
    """Whether the second word follows the first by at most `within` words."""
    follows = set(second)
    return any(place + step in follows for place in first for step in range(1, within + 1))


class Proximity(Signal, frozen=True, tag="proximity", kw_only=True):
    """The share of neighbouring keyword pairs of the query that also follow each other in the
    memory, `within` words. A query of one keyword has no pair."""

    within: AtLeastOne = 3

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, Value]:
        asked = [pair for pair in dict.fromkeys(pairwise(context.stems)) if pair[0] != pair[1]]
        if not asked:
            return {}
        wanted = frozenset(stem for pair in asked for stem in pair)
        shared = {id: wanted & context.reading(id).stem_set for id in ids}
        known = frozenset[str]().union(*shared.values())
        # A word that no candidate holds cannot tell them apart.
        asked = [pair for pair in asked if known.issuperset(pair)]
        if not asked:
            return {}
        return {
            id: self._value(held, context.reading(id).stems, asked) for id, held in shared.items()
        }

    def _value(
        self, held: frozenset[str], stems: Sequence[str], asked: Sequence[tuple[str, str]]
    ) -> Value:
        both = [pair for pair in asked if held.issuperset(pair)]
        found = places(held, stems) if both else {}
        near = [
            f"{first} {second}"
            for first, second in both
            if together(found[first], found[second], self.within)
        ]
        how = f"{len(near)} of {len(asked)} word pairs stand together"
        return Value(len(near) / len(asked), how + (f": {', '.join(near)}" if near else ""))
