"""`domain_match`: whether a memory is of the domain asked for."""

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
