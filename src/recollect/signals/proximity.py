"""`proximity`: words that stand together in the query and in the memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from recollect.context import SearchContext
from recollect.recipes.ranges import AtLeastOne
from recollect.signals.base import Signal, SignalValue


def following(places: Sequence[tuple[int, str]], within: int) -> set[tuple[str, str]]:
    """The pairs of words of which the second follows the first by at most `within` words."""
    found = set()
    for number, (at, word) in enumerate(places, start=1):
        for place, other in places[number : number + within]:
            if place - at <= within:
                found.add((word, other))
    return found


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
        places = {id: context.text(id).places for id in ids}
        known = {stem for found in places.values() for _, stem in found}
        # A word that no candidate holds cannot tell them apart.
        asked = [pair for pair in asked if known.issuperset(pair)]
        if not asked:
            return {}
        found: dict[str, SignalValue] = {}
        for id, standing in places.items():
            behind = following(standing, self.within)
            near = [pair for pair in asked if pair in behind]
            # As the query spells them: a stem is no word for people.
            pairs = [" ".join(dict.fromkeys(query.spelled[stem] for stem in pair)) for pair in near]
            how = f"{len(near)} of {len(asked)} word pairs stand together"
            named = f": {', '.join(pairs)}" if pairs else ""
            found[id] = SignalValue(len(near) / len(asked), how + named)
        return found
