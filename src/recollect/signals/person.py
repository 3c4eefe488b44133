"""`person`: who asks about themselves is answered in the first person."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from recollect.context import SearchContext
from recollect.query.terms import words
from recollect.recipes.ranges import Share
from recollect.signals.base import Signal, SignalValue

# Words as they are written: "US" is a country, and "use" another word.
FIRST_PERSON = re.compile(r"\b(?:I|[Mm]e|[Mm]y|[Mm]ine|[Mm]yself|[Ww]e|us|[Oo]urs?|[Oo]urselves)\b")


class Person(Signal, frozen=True, tag="person", kw_only=True):
    """Where the query speaks in the first person ("where did I leave my bike?"), how much the
    memory does: 1 where at least `share` of its words are I, my, we and the like, and in proportion
    below. In a conversation this tells what a user said of themselves from what was answered."""

    about = "speaks in the first person, as the query does"
    family = "structure"

    share: Share = 0.06

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        if not FIRST_PERSON.search(context.search.query):
            return {}
        shares = {id: self._share(context.memory(id).text) for id in ids}
        return {id: SignalValue(share, "in the first person") for id, share in shares.items()}

    def _share(self, text: str) -> float:
        own = sum(1 for _ in FIRST_PERSON.finditer(text))
        return min(1.0, own / (self.share * len(words(text)))) if own else 0.0
