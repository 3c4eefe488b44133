"""The base class of stages. A stage maps a ranking to another ranking."""

from __future__ import annotations

from typing import ClassVar, Literal

from msgspec import Struct

from recollect.context import ChannelRole, SearchContext
from recollect.types import Family, Ranking, Term, combine, leaf

# Products that a part of a recipe may need from an earlier part: scores of a rank fusion, scores
# that are log odds, scores of a reranker, the cut to the limit.
Product = Literal["rrf", "log_odds", "reranking", "limit"]


# More candidates than any recall finds, more words than any query has: a stage with this minimum
# never calls a reranker.
NEVER = 1_000_000


class Stage(Struct, frozen=True, forbid_unknown_fields=True):
    """Takes a ranking and returns a new one. Each dropped hit gets a reason, which the response
    counts."""

    about: ClassVar[str] = ""
    family: ClassVar[Family] = "trust"
    needs: ClassVar[tuple[Product, ...]] = ()
    gives: ClassVar[tuple[Product, ...]] = ()

    @property
    def channels(self) -> tuple[str, ...]:
        """The names of the channels that it needs."""
        return ()

    @property
    def roles(self) -> tuple[ChannelRole, ...]:
        """The roles of the channels that it needs."""
        return ()

    @property
    def reads_time(self) -> bool:
        """True if it uses the times that the query's words name."""
        return False

    def check(self, where: str) -> None:
        """Raise UserError, beginning with `where`, for settings that make no sense."""

    def deferral(self, query: str) -> dict[str, object]:
        """Return the changed fields with which it does not rerank this query; empty if it would not
        anyway."""
        return {}

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        raise NotImplementedError


def cap_score(name: str, term: Term, cap: float) -> Term:
    """Return `min(term, cap)`; the cap is in the explanation only if it applies."""
    if term.value <= cap:
        return term
    return combine(name, "min", (term, leaf("cap", cap, f"at most {cap:g}")))
