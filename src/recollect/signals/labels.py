"""Signals of a memory's labels: kind, project, domain, tags, tier, importance, severity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

from recollect.context import SearchContext
from recollect.fuse.fusions import reciprocal
from recollect.recipes.ranges import AtLeastOne, Share, Smoothing
from recollect.signals.base import NOTHING, Signal, SignalValue
from recollect.types import Memory


class AskedMatch(Signal, frozen=True, tag="asked_match", kw_only=True):
    """The share of the labels in the query's words (`bugs`, `critical`, `atlas`) that the memory
    has. Nothing is dropped: in a query with a topic such a word may be part of it."""

    about = "the kind or project asked for"
    family = "structure"

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        asked = context.understanding.list_query
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


class DomainMatch(Signal, frozen=True, tag="domain_match", kw_only=True):
    """1 when the domain asked for equals the memory's, else 0."""

    about = "domain asked for"
    family = "literal"

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        asked = context.search.wanted_domains
        domains = {id: context.memory(id).domain.lower() for id in ids}
        # Explanations never repeat text of the memory that is not in the query.
        return {
            id: SignalValue(1.0, domain) if domain in asked else NOTHING
            for id, domain in domains.items()
        }


class ProjectMatch(Signal, frozen=True, tag="project_match", kw_only=True):
    """1 for a memory of the preferred project, and for a core memory of no project, which applies
    everywhere; else 0. Nothing if no project is preferred."""

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


def jaccard(one: Set[str], other: Set[str]) -> float:
    """Return the shared over all; 0 if both are empty."""
    return len(one & other) / len(one | other) if one or other else 0.0


class TagOverlap(Signal, frozen=True, tag="tag_overlap", kw_only=True):
    """Jaccard index, case-insensitive; 0 if the search names no tag."""

    about = "tags asked for"
    family = "structure"

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        asked = context.search.wanted_tags
        if not asked:
            return {}
        tags_of = {id: {tag.lower() for tag in context.memory(id).tags} for id in ids}
        how = f"tags asked for: {', '.join(sorted(asked))} (Jaccard)"
        return {id: SignalValue(jaccard(asked, tags), how) for id, tags in tags_of.items()}


class Importance(Signal, frozen=True, tag="importance", kw_only=True):
    """`core` for a pinned memory, else by severity; 0 for most memories."""

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


class Severity(Signal, frozen=True, tag="severity", kw_only=True):
    """One value per severity; none counts as suggestion."""

    about = "how severe it is"
    family = "rarity"

    critical: Share = 1.0
    warning: Share = 0.7
    suggestion: Share = 0.4

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        named = {id: context.memory(id).severity or "suggestion" for id in ids}
        return {id: SignalValue(getattr(self, name), name) for id, name in named.items()}


class Tier(Signal, frozen=True, tag="tier", kw_only=True):
    """`1/(k + tier)` with core 1, file 2, capture 3."""

    about = "how much its source is trusted"
    family = "trust"

    k: Smoothing = 60
    core: AtLeastOne = 1
    file: AtLeastOne = 2
    capture: AtLeastOne = 3

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        return {id: self._value(context.memory(id).tier) for id in ids}

    def _value(self, name: str) -> SignalValue:
        rank: int = getattr(self, name)
        return SignalValue(reciprocal(rank, self.k), f"tier {name} (1/({self.k:g} + {rank}))")
