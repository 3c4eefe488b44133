"""`first_person`: a question about oneself is answered by what one said of oneself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.context import SearchContext
from recollect.query.terms import lowered
from recollect.recipes.ranges import Share
from recollect.signals.base import Signal, SignalValue

FIRST_PERSON = frozenset("i me my mine myself we us our ours ourselves".split())
SPEAKS = SignalValue(1.0, "speaks in the first person, as the query does")


class FirstPerson(Signal, frozen=True, tag="first_person", kw_only=True):
    """1 where the query speaks in the first person ("where did I leave my bike?") and so does the
    memory: at least `share` of its words are I, my, we and the like. "The bike of a friend" is
    about somebody else, however alike the words are."""

    about = "speaks in the first person, as the query does"
    family = "structure"

    share: Share = 0.03

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        if FIRST_PERSON.isdisjoint(lowered(context.search.query)):
            return {}
        return {id: SPEAKS for id in ids if self._speaks(context.text(id).stems)}

    def _speaks(self, stems: Sequence[str]) -> bool:
        own = sum(stem in FIRST_PERSON for stem in stems)
        return own > 0 and own >= self.share * len(stems)
