"""The listing channel: what a query that names no topic asks for, by the time it was made."""

from __future__ import annotations

from recollect.context import SearchContext
from recollect.recall.base import Channel
from recollect.types import Hit, Ranking, leaf


class Listed(Channel, frozen=True, tag="listed"):
    """Answers a query that lists (`bugs from last month`, `latest decision`) and no other: the
    memories of the kind, project, severity and time asked for, newest or oldest first.

    The score is `1/place`, which states that order.
    """

    about = "when it was made"
    family = "time"
    lists = True

    name: str = "listed"

    def recall(self, context: SearchContext) -> Ranking:
        how = f"{context.understanding.asked.order} first"
        return Ranking(
            tuple(
                Hit(memory.id, leaf(self.name, 1 / place, f"{how}: 1/{place}"))
                for place, memory in enumerate(context.understanding.listed, start=1)
            )
        )
