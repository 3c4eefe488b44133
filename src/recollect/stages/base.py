"""What a stage is: whatever turns a ranking into a ranking."""

from __future__ import annotations

from typing import ClassVar, Literal

from msgspec import Struct

from recollect.context import ChannelRole, SearchContext
from recollect.types import Family, Ranking

# What one part of a recipe may need of another before it: scores that a rank fusion made, scores
# that are log odds, the word of a reranker, the cut to the limit.
Product = Literal["rrf", "log_odds", "reranking", "limit"]


# More candidates than any recall finds, more words than any query has: a stage that waits for so
# many asks no reranker.
NEVER = 1_000_000


class Stage(Struct, frozen=True, forbid_unknown_fields=True):
    """Takes a ranking and returns another; the one it was given stays as it is. What it drops, it
    drops with a reason, which the response counts."""

    about: ClassVar[str] = ""
    family: ClassVar[Family] = "trust"
    needs: ClassVar[tuple[Product, ...]] = ()
    gives: ClassVar[tuple[Product, ...]] = ()

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels it needs, by name."""
        return ()

    @property
    def roles(self) -> tuple[ChannelRole, ...]:
        """The channels it needs, by what they do."""
        return ()

    @property
    def reads_time(self) -> bool:
        """Whether it counts the times that the query's words name."""
        return False

    def check(self, where: str) -> None:
        """UserError that begins with `where` for what no recipe can mean."""

    def deferral(self, query: str) -> dict[str, object]:
        """The fields, set otherwise, with which it asks no reranker about this query; empty where
        it would not ask one anyway."""
        return {}

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        raise NotImplementedError
