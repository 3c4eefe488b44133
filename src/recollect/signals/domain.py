"""`domain_match`: whether a memory is of the domain asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from recollect.context import SearchContext
from recollect.signals.base import Signal, Value


class DomainMatch(Signal, frozen=True, tag="domain_match", kw_only=True):
    """1 when the domain asked for equals the memory's, else 0."""

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, Value]:
        asked = context.search.wanted_domains
        held = {id: context.memory(id).domain.lower() for id in ids}
        return {id: Value(float(domain in asked), domain) for id, domain in held.items()}
