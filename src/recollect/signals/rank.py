"""`keyword_rank` and `vector_rank`: a memory's place in a channel, as `1/(k + rank)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.context import SearchContext, passages_of
from recollect.fuse.fusions import reciprocal
from recollect.recipes.ranges import Smoothing
from recollect.signals.base import Signal, SignalValue
from recollect.types import Ranking


class _Rank(Signal, frozen=True, kw_only=True):
    k: Smoothing = 60

    @property
    def channels(self) -> tuple[str, ...]:
        """A memory's place in the channel of the signal's name."""
        return (self.name,)

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        """Absent from the list: 0."""
        where = passages_of(context.channels.get(self.name, Ranking()))
        return {
            id: SignalValue(
                reciprocal(rank, self.k),
                f"{self.about} {rank} (1/({self.k:g} + {rank})) {where.get(id, '')}".rstrip(),
            )
            for id, rank in context.ranks(self.name).items()
        }


class KeywordRank(_Rank, frozen=True, tag="keyword_rank", kw_only=True):
    """The rank by BM25."""

    about = "rank by words"
    family = "words"

    @property
    def name(self) -> str:
        return "keyword"


class VectorRank(_Rank, frozen=True, tag="vector_rank", kw_only=True):
    """The rank by cosine."""

    about = "rank by meaning"
    family = "meaning"

    @property
    def name(self) -> str:
        return "vector"
