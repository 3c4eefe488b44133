"""The address of a page with filters, and the links that change a part of it."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote_plus

from recollect.types import ANY_OF

NOT = "not_"  # begins the name of a filter that leaves out


class Address(NamedTuple):
    """The parameters in a page's address; each link changes some of them."""

    pairs: tuple[tuple[str, str], ...]
    path: str = "/"

    def values(self, name: str) -> list[str]:
        return [value for parameter, value in self.pairs if parameter == name and value]

    def without(self, *names: str) -> Address:
        return self._replace(pairs=tuple(pair for pair in self.pairs if pair[0] not in names))

    def putting(self, name: str, value: str) -> Address:
        return self._replace(pairs=(*self.without(name).pairs, (name, value)))

    def adding(self, name: str, value: str) -> Address:
        return self._replace(pairs=(*self.pairs, (name, value)))

    def toggled(self, name: str, value: str) -> Address:
        """With that filter switched: values of one that takes several add up, another replaces its
        value."""
        kept = self.dropping(name, value)
        if kept != self:
            return kept
        several = name in (*ANY_OF, "tag", "ignore") or name.startswith(NOT)
        return self.adding(name, value) if several else self.putting(name, value)

    def excluding(self, name: str, value: str) -> Address:
        """With memories of that value left out; asked for again, no longer."""
        return self.dropping(name, value).toggled(f"{NOT}{name}", value)

    def dropping(self, name: str, value: str) -> Address:
        pairs = tuple(pair for pair in self.pairs if not _is(pair, name, value))
        return self._replace(pairs=pairs)

    def holds(self, name: str, value: str) -> bool:
        return self.dropping(name, value) != self

    def link(self) -> str:
        """The address of another selection, which starts with the usual number of results."""
        query = self.without("limit").query()
        return f"{self.path}?{query}" if query else self.path

    def query(self) -> str:
        return "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in self.pairs if value)


# Nearly the same few words stand in each of the hundred links of a page.
_quoted = lru_cache(1024)(quote_plus)


def _is(pair: tuple[str, str], name: str, value: str) -> bool:
    """Tags that differ only in case are one tag."""
    parameter, chosen = pair
    same = chosen.casefold() == value.casefold() if name.endswith("tag") else chosen == value
    return parameter == name and same
