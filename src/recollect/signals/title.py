"""`title`: whether the title holds everything asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from recollect.context import SearchContext
from recollect.query.terms import composed, pieces
from recollect.recipes.ranges import Weight
from recollect.signals.base import Signal, SignalValue


def holds_all(title: str, query: str) -> bool:
    """Whether every white-space-separated word of the query is a substring of the title,
    case-insensitive: `roadmap 1.4` is in `v1.4-ROADMAP.md`. False for an empty query."""
    wanted, folded = _folded_pieces(query), composed(title).casefold()
    return bool(wanted) and all(map(folded.__contains__, wanted))


@lru_cache(maxsize=16)  # the queries that are being answered
def _folded_pieces(query: str) -> list[str]:
    return pieces(composed(query).casefold())


PART = SignalValue(0.0, "not every word is in the title")


class Title(Signal, frozen=True, tag="title", kw_only=True):
    """`bonus` if the title holds every word of the query; a file's title is its path."""

    about = "words in the title"
    family = "structure"

    bonus: Weight = 0.01

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        whole = SignalValue(self.bonus, "every word is in the title")
        query = context.search.query
        return {id: whole if holds_all(context.memory(id).title, query) else PART for id in ids}
