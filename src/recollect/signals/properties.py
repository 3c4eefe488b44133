"""Signals of a memory's properties: its age and validity, its labels, and its use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from datetime import datetime, timedelta
from math import exp, log

from recollect.context import SearchContext
from recollect.fuse import reciprocal
from recollect.query.time.periods import describe, within
from recollect.recipes.ranges import AtLeastOne, Share, Smoothing, Span
from recollect.signals.base import NOTHING, Signal, SignalValue
from recollect.types import Memory, Use

HOUR = timedelta(hours=1)
YEAR_HOURS = 8760.0
DAY = timedelta(days=1)


class TimeMatch(Signal, frozen=True, tag="time_match", kw_only=True):
    """1 for a memory made in a period that the query bounds ("last week", "before 2026-03-01"),
    `hint` for a period that it only hints at ("recently"). Nothing is dropped: a memory may mention
    a time without having been made then."""

    about = "made in the time asked for"
    family = "time"
    reads_time = True

    hint: Share = 0.5

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        named = context.understanding.effective_periods
        if not named:
            return {}
        raw = 1.0 if named[0].exact else self.hint
        how = "made in the time asked for: " + "; ".join(map(describe, named))
        return {
            id: SignalValue(raw, how) for id in ids if within(context.memory(id).created_at, named)
        }


def hyperbolic(updated_at: datetime, now: datetime, hours: float = YEAR_HOURS) -> SignalValue:
    """Return `1 / (1 + age / 8760 h)`: a year 0.5, two years a third. Age is never below 0."""
    age = max(0.0, (now - updated_at) / HOUR)
    how = f"{age / 24:.1f} days old (1/(1 + {age:.1f} h / {hours:g} h))"
    return SignalValue(1.0 / (1.0 + age / hours), how)


class Recency(Signal, frozen=True, tag="recency", kw_only=True):
    """Newer is better. Age counts from `updated_at`; for a file that is its modification time."""

    about = "how new it is"
    family = "time"

    hours: Span = YEAR_HOURS

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        return {
            id: hyperbolic(context.memory(id).updated_at, context.now, self.hours) for id in ids
        }


def half_life(updated_at: datetime, now: datetime, days: float) -> SignalValue:
    """Return `exp(-ln 2 · age / half-life)`: 1 new, 0.5 after one half-life. Age is never below
    0."""
    age = max(0.0, (now - updated_at) / DAY)
    return SignalValue(exp(-log(2) * age / days), f"{age:.1f} days old (half-life {days:g} days)")


def window(memory: Memory, until: datetime, now: datetime, zone_share: float) -> SignalValue:
    """Return 1 until the last `zone_share` of the validity window, then down linearly to 0 at its
    end. A window of no length, or a negative one, counts as 1 until it has expired."""
    remaining = until - now
    if remaining <= timedelta(0):
        return SignalValue(0.0, "expired")
    zone = zone_share * (until - (memory.valid_from or memory.created_at))
    if remaining > zone:
        return SignalValue(1.0, f"valid for {remaining / DAY:.1f} more days")
    return SignalValue(
        remaining / zone, f"{remaining / DAY:.1f} of the last {zone / DAY:.1f} days left"
    )


class TemporalDecay(Signal, frozen=True, tag="temporal_decay", kw_only=True):
    """By age, or by validity window for a memory with `valid_until`."""

    about = "how new it is, or how long it stays valid"
    family = "time"

    half_life_days: Span = 365.0
    zone: Share = 0.25

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        return {id: self._value(context.memory(id), context.now) for id in ids}

    def _value(self, memory: Memory, now: datetime) -> SignalValue:
        if memory.valid_until is not None:
            return window(memory, memory.valid_until, now, self.zone)
        return half_life(memory.updated_at, now, self.half_life_days)


class AskedMatch(Signal, frozen=True, tag="asked_match", kw_only=True):
    """The share of the labels in the query's words (`bugs`, `critical`, `atlas`) that the memory
    has. Nothing is dropped: in a query with a topic such a word may be part of it."""

    about = "the kind or project asked for"
    family = "structure"

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        wanted = context.understanding.list_query.labels
        found = {}
        for id in ids if wanted else ():
            memory = context.memory(id)
            tags = {tag.lower() for tag in memory.tags}
            matched = [
                name
                for name, value in wanted.items()
                if (value in tags if name == "tag" else getattr(memory, name) == value)
            ]
            if matched:
                how = ", ".join(f"{name} {wanted[name]}" for name in matched)
                found[id] = SignalValue(len(matched) / len(wanted), how)
        return found


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
        named = f"tags asked for: {', '.join(sorted(asked))} (Jaccard)"
        raw = {id: jaccard(asked, tags) for id, tags in tags_of.items()}
        return {
            id: SignalValue(value, f"{'' if value else 'none of the '}{named}")
            for id, value in raw.items()
        }


class Importance(Signal, frozen=True, tag="importance", kw_only=True):
    """`core` for a pinned memory, else by severity; 0 for most memories."""

    about = "pinned, or of high severity"
    family = "trust"

    core: Share = 1.0
    critical: Share = 1.0
    warning: Share = 0.5

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        found = {id: self._value(context.memory(id)) for id in ids}
        return {id: value for id, value in found.items() if value.raw}

    def _value(self, memory: Memory) -> SignalValue:
        marks = {
            "is pinned": self.core if memory.tier == "core" else 0.0,
            "severity: critical": self.critical if memory.severity == "critical" else 0.0,
            "severity: warning": self.warning if memory.severity == "warning" else 0.0,
        }
        name = max(marks, key=lambda mark: marks[mark])
        return SignalValue(marks[name], name)


class Severity(Signal, frozen=True, tag="severity", kw_only=True):
    """One value per severity; none counts as suggestion."""

    about = "severity"
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


class Feedback(Signal, frozen=True, tag="feedback", kw_only=True):
    """From −1 (dismissed) to 1 (accepted), weighted by the likeness of the queries, which the
    recipe's `feedback` defines: a memory dismissed for another question is no worse for this
    one."""

    about = "accepted or dismissed before"
    family = "rarity"

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        opinions = context.opinions
        return {id: SignalValue(opinions[id].raw, opinions[id].how) for id in ids if id in opinions}


# Being returned says little: it is the work of the ranking itself. An opened memory was chosen, and
# an accepted one was right.
RETURNED, OPENED, ACCEPTED = 0.1, 1.0, 3.0
# The use for which the signal is 0.5.
HALF = 5.0


class Used(Signal, frozen=True, tag="used", kw_only=True):
    """From 0 (never used, or not counted) towards 1. Off in the documented recipes: it would keep
    raising results that were found once, good or bad."""

    about = "opened or accepted before"
    family = "trust"

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        found = context.store.usage.find(ids) if self.weight else {}  # off: nothing is read
        return {id: SignalValue(usefulness(use), _how(use)) for id, use in found.items()}


def usefulness(use: Use) -> float:
    """Return `u / (u + 5)`, where `u` is `0.1 × returned + opened + 3 × accepted`. It saturates, so
    that daily use does not outweigh everything."""
    amount = RETURNED * use.returned + OPENED * use.opened + ACCEPTED * use.accepted
    return amount / (amount + HALF)


def _how(use: Use) -> str:
    return f"returned {use.returned}, opened {use.opened}, accepted {use.accepted} times"
