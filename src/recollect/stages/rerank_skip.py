"""A score without a reranker: from ranks and cosine, and never so high as a verified one."""

from __future__ import annotations

from msgspec import Struct

from recollect.maths import logistic
from recollect.recipes.ranges import Share, Weight
from recollect.types import Term, combine, leaf


class Skip(Struct, frozen=True, forbid_unknown_fields=True):
    """`base + span · logistic(steepness · (x − centre))`, at most `cap`, where `x` is the RRF over
    the largest that the fusion can give, times the cosine for a memory that came through vectors.
    Source: the `gnosis` recipe, "Skip", where the largest is 2/61; the RRF is the one before the
    kind boosts.
    """

    base: Share = 0.40
    span: Share = 0.30
    steepness: Weight = 10.0
    centre: Share = 0.4
    cap: Share = 0.70

    def score(self, rrf: float, cosine: float | None, *, largest: float) -> Term:
        x = rrf / largest * (1.0 if cosine is None else cosine)
        risen = self.span * logistic(self.steepness * (x - self.centre))
        how = f"{self.span:g} · logistic({self.steepness:g} · ({x:.4f} − {self.centre:g}))"
        parts = (leaf("base", self.base, "lowest unverified score"), leaf("fused", risen, how))
        total = combine("unverified", "sum", parts)
        return capped("unverified", total, self.cap)


def capped(name: str, term: Term, cap: float) -> Term:
    """`min(term, cap)`; the cap appears in the explanation only where it bites."""
    if term.value <= cap:
        return term
    return combine(name, "min", (term, leaf("cap", cap, f"at most {cap:g}")))
