"""Channels: the ways of finding candidates."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from recollect.context import ChannelRole, SearchContext
from recollect.store.base import KeywordIndexName
from recollect.types import Family, Ranking


class Channel(Struct, frozen=True, forbid_unknown_fields=True):
    """One way of finding candidates for a query. Each channel has a `name`, by which fusion and
    stages refer to it."""

    about: ClassVar[str]
    family: ClassVar[Family]
    lists: ClassVar[bool] = False  # answers queries that name no topic, and only those

    @property
    def role(self) -> ChannelRole | None:
        """The role that only one channel of a recipe can have."""
        return None

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels that must run before it, since it reads their results."""
        return ()

    @property
    def corrects_typos(self) -> bool:
        """Whether it also searches for corrections of typing errors."""
        return False

    @property
    def reads_languages(self) -> bool:
        """Whether it reads queries in other languages by their own words."""
        return False

    @property
    def smooths(self) -> bool:
        """Whether it smooths the rarity of words in small vaults."""
        return False

    def check(self, where: str) -> None:
        """Raise UserError, whose text begins with `where`, for constants that make no sense."""

    def applies(self, context: SearchContext) -> bool:
        """Return whether to run it for this query."""
        return True

    def embeds(self, context: SearchContext) -> bool:
        """Return whether it needs the query's vector, whatever the other channels find."""
        return False

    def with_vectors(self, when: str) -> Channel:
        """Return the channel with another `when`, if it uses vectors."""
        return self

    def recall(self, context: SearchContext) -> Ranking | None:
        """Return its candidates, best first; None if it could not take part."""
        raise NotImplementedError

    def matches(self, context: SearchContext) -> tuple[KeywordIndexName, str] | None:
        """Return the keyword index and the FTS5 expression of the query, if it uses them."""
        return None
