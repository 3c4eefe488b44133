"""`proximity`: words that stand together in the query and in the memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import pairwise

from recollect.context import SearchContext
from recollect.recipes.ranges import AtLeastOne
from recollect.signals.base import Signal, SignalValue


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

    about = "words that stand together"
    family = "structure"

    within: AtLeastOne = 3

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        query = context.understanding
        asked = [pair for pair in dict.fromkeys(pairwise(query.stems)) if pair[0] != pair[1]]
        if not asked:
            return {}
        wanted = frozenset(stem for pair in asked for stem in pair)
        shared = {id: wanted & context.text(id).stem_set for id in ids}
        known = frozenset[str]().union(*shared.values())
        # A word that no candidate holds cannot tell them apart.
        asked = [pair for pair in asked if known.issuperset(pair)]
        if not asked:
            return {}
        found: dict[str, SignalValue] = {}
        for id, stems in shared.items():
            near = self._near(stems, context.text(id).stems, asked)
            # As the query spells them: a stem is no word for people.
            pairs = [" ".join(dict.fromkeys(query.spelled[stem] for stem in pair)) for pair in near]
            how = f"{len(near)} of {len(asked)} word pairs stand together"
            named = f": {', '.join(pairs)}" if pairs else ""
            found[id] = SignalValue(len(near) / len(asked), how + named)
        return found

    def _near(
        self, shared: frozenset[str], stems: Sequence[str], asked: Sequence[tuple[str, str]]
    ) -> list[tuple[str, str]]:
        """The pairs whose words follow each other in the memory."""
        both = [pair for pair in asked if shared.issuperset(pair)]
        found = places(shared, stems) if both else {}
        return [
            (first, second)
            for first, second in both
            if together(found[first], found[second], self.within)
        ]
