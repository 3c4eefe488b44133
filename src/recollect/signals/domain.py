"""`domain_match` and `project_match`: whether a memory belongs to the domain that is asked for, or
to the project that is preferred."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.context import SearchContext
from recollect.signals.base import NOTHING, Signal, SignalValue


class DomainMatch(Signal, frozen=True, tag="domain_match", kw_only=True):
    """1 when the domain asked for equals the memory's, else 0."""

    about = "domain asked for"
    family = "literal"

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        asked = context.search.wanted_domains
        domains = {id: context.memory(id).domain.lower() for id in ids}
        # One that was not asked for is the memory's own text, which no explanation repeats.
        return {
            id: SignalValue(1.0, domain) if domain in asked else NOTHING
            for id, domain in domains.items()
        }


class ProjectMatch(Signal, frozen=True, tag="project_match", kw_only=True):
    """1 for a memory of the project that is preferred, and for a core memory of no project, which
    holds everywhere; else 0. Nothing where no project is preferred."""

    about = "project preferred"
    family = "literal"

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        preferred = context.search.prefer_project
        if not preferred:
            return dict.fromkeys(ids, NOTHING)
        values = {}
        for id, memory in ((id, context.memory(id)) for id in ids):
            everywhere = memory.tier == "core" and not memory.project
            holds = everywhere or memory.project == preferred
            values[id] = SignalValue(1.0, memory.project) if holds else NOTHING
        return values
