"""`importance`: what somebody said of how much a memory matters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.context import SearchContext
from recollect.recipes.ranges import Share
from recollect.signals.base import Signal, SignalValue
from recollect.types import Memory


class Importance(Signal, frozen=True, tag="importance", kw_only=True):
    """`core` for a pinned memory, else by severity; most memories have neither, and 0."""

    about = "pinned, or of high severity"
    family = "trust"

    core: Share = 1.0
    critical: Share = 1.0
    warning: Share = 0.5

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        marked = (memory for memory in map(context.memory, ids) if _is_marked(memory))
        found = {memory.id: self._value(memory) for memory in marked}
        return {id: value for id, value in found.items() if value.raw}

    def _value(self, memory: Memory) -> SignalValue:
        marks = {
            "pinned": self.core if memory.tier == "core" else 0.0,
            "critical": self.critical if memory.severity == "critical" else 0.0,
            "warning": self.warning if memory.severity == "warning" else 0.0,
        }
        name = max(marks, key=lambda mark: marks[mark])
        return SignalValue(marks[name], name)


def _is_marked(memory: Memory) -> bool:
    return memory.tier == "core" or memory.severity in ("critical", "warning")
