"""`domain_match` and `project_match`: whether a memory belongs to the domain that is asked for, or
to the project that is preferred."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.context import SearchContext
from recollect.signals.base import Signal, SignalValue


class DomainMatch(Signal, frozen=True, tag="domain_match", kw_only=True):
    """1 when the domain asked for equals the memory's, else 0."""

    about = "domain asked for"
    family = "literal"

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        asked = context.search.wanted_domains
        domains = {id: context.memory(id).domain.lower() for id in ids}
        return {id: SignalValue(float(domain in asked), domain) for id, domain in domains.items()}


class ProjectMatch(Signal, frozen=True, tag="project_match", kw_only=True):
    """1 for a memory of the project that is preferred, and for a core memory of no project, which
    holds everywhere; else 0. Nothing where no project is preferred."""

    about = "project preferred"
    family = "literal"

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        preferred = context.search.prefer_project
        if not preferred:
            return dict.fromkeys(ids, SignalValue(0.0, ""))
        values = {}
        for id, memory in ((id, context.memory(id)) for id in ids):
            everywhere = memory.tier == "core" and not memory.project
            values[id] = SignalValue(
                float(memory.project == preferred or everywhere), memory.project
            )
        return values
