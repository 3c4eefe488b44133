"""Of two memories that answer a query equally well, that of the vault that counts more."""

from __future__ import annotations

from recollect.context import SearchContext
from recollect.recipes.ranges import Weight
from recollect.signals.base import added
from recollect.stages.base import Stage
from recollect.types import Hit, Ranking, leaf


class VaultPreference(Stage, frozen=True, tag="vault_preference"):
    """Takes from a score at most `most`: nothing from a memory of the vault of highest priority,
    all of it from one of priority 0, and in between in proportion. A result that is better by more
    stays above, whichever vault it is from. Where one vault is searched, nothing changes."""

    about = "the vault it is from"

    most: Weight = 0.5
    name: str = "vault_preference"

    def apply(self, ranking: Ranking, context: SearchContext) -> Ranking:
        if context.preference is None:
            return ranking
        return ranking.resorted(
            self._weighed(hit, *context.preference(hit.memory_id)) for hit in ranking
        )

    def _weighed(self, hit: Hit, priority: float, vault: str) -> Hit:
        lost = self.most * (1.0 - priority)
        return hit.rescored(added(hit.why, leaf(self.name, -lost, vault))) if lost else hit
