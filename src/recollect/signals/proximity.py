"""`proximity`: words that stand together in the query and in the memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from recollect.context import SearchContext
from recollect.recipes.ranges import AtLeastOne
from recollect.signals.base import Signal, SignalValue


def follows(first: str, second: str, stems: Sequence[str], within: int) -> bool:
    """Whether the second word follows the first by at most `within` words somewhere."""
    behind = 0
    for _ in range(stems.count(first)):
        behind = stems.index(first, behind) + 1
        if second in stems[behind : behind + within]:
            return True
    return False


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
            words = context.text(id).stems
            both = (pair for pair in asked if stems.issuperset(pair))
            near = [pair for pair in both if follows(*pair, words, self.within)]
            # As the query spells them: a stem is no word for people.
            pairs = [" ".join(dict.fromkeys(query.spelled[stem] for stem in pair)) for pair in near]
            how = f"{len(near)} of {len(asked)} word pairs stand together"
            named = f": {', '.join(pairs)}" if pairs else ""
            found[id] = SignalValue(len(near) / len(asked), how + named)
        return found
