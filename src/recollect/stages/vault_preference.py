"""Of two memories that answer a query equally well, that of the vault that counts more."""

from __future__ import annotations

from recollect.context import SearchContext
from recollect.recipes.ranges import Share
from recollect.stages.base import Stage
from recollect.types import Hit, Ranking, combine, leaf


class VaultPreference(Stage, frozen=True, tag="vault_preference"):
    """Takes from a score at most `share` of it: nothing from a memory of the vault of highest
    priority, all of `share` from one of priority 0, and in between in proportion. A result that is
    better by more than `share` stays above, whichever vault it is from. Where one vault is
    searched, nothing changes."""

    about = "the vault it is from"

    share: Share = 0.05
    name: str = "vault_preference"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        if context.preference is None:
            return ranking
        return ranking.resorted(
            self._weighed(hit, *context.preference(hit.memory_id)) for hit in ranking
        )

    def _weighed(self, hit: Hit, priority: float, vault: str) -> Hit:
        lost = self.share * (1.0 - priority)
        if not lost:
            return hit
        # Below zero, more takes away.
        factor = 1.0 - lost if hit.score >= 0 else 1.0 + lost
        preference = leaf(self.name, factor, vault)
        return hit.rescored(combine(hit.why.name, "product", (preference, hit.why)))
