"""`asked_match`: memories of the kind, project, tag and severity that the query's words name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.context import SearchContext
from recollect.signals.base import Signal, SignalValue
from recollect.types import Memory


class AskedMatch(Signal, frozen=True, tag="asked_match", kw_only=True):
    """The share of what the query names (`bugs`, `critical`, `atlas`) that the memory is. Favours
    and never drops: beside a topic such a word may be part of it."""

    about = "the kind or project asked for"
    family = "structure"

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        asked = context.understanding.asked
        wanted = {
            name: getattr(asked, name)
            for name in ("kind", "project", "source", "tag", "severity")
            if getattr(asked, name) is not None
        }
        found = {}
        for id in ids if wanted else ():
            memory = context.memory(id)
            matched = [name for name, value in wanted.items() if _is(memory, name, value)]
            if matched:
                how = ", ".join(f"{name} {wanted[name]}" for name in matched)
                found[id] = SignalValue(len(matched) / len(wanted), how)
        return found


def _is(memory: Memory, name: str, value: str) -> bool:
    if name == "tag":
        return value in (tag.lower() for tag in memory.tags)
    return bool(getattr(memory, name) == value)
