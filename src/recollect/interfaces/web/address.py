"""The search page's address, and the links that change a part of it."""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import urlencode


class Address(NamedTuple):
    """The parameters in the page's address; each link changes some of them."""

    pairs: tuple[tuple[str, str], ...]

    def values(self, name: str) -> list[str]:
        return [value for parameter, value in self.pairs if parameter == name and value]

    def without(self, *names: str) -> Address:
        return Address(tuple(pair for pair in self.pairs if pair[0] not in names))

    def putting(self, name: str, value: str) -> Address:
        return Address((*self.without(name).pairs, (name, value)))

    def adding(self, name: str, value: str) -> Address:
        return Address((*self.pairs, (name, value)))

    def toggled(self, name: str, value: str) -> Address:
        """With that filter switched: tags add up, another filter replaces its value."""
        kept = tuple(pair for pair in self.pairs if not _is(pair, name, value))
        if len(kept) < len(self.pairs):
            return Address(kept)
        return self.adding(name, value) if name == "tag" else self.putting(name, value)

    def link(self) -> str:
        """The address of another selection, which starts with the usual number of results."""
        return "/?" + self.without("limit").query() if self.without("limit").pairs else "/"

    def query(self) -> str:
        return urlencode([pair for pair in self.pairs if pair[1]])


def _is(pair: tuple[str, str], name: str, value: str) -> bool:
    """Tags that differ only in case are one tag."""
    parameter, chosen = pair
    same = chosen.casefold() == value.casefold() if name == "tag" else chosen == value
    return parameter == name and same
