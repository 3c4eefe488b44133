"""What a channel is: one way of finding candidates."""

from __future__ import annotations

from typing import ClassVar

from msgspec import Struct

from recollect.context import ChannelRole, SearchContext
from recollect.store.base import KeywordIndexName
from recollect.types import Family, Ranking


class Channel(Struct, frozen=True, forbid_unknown_fields=True):
    """Finds candidates for a query. Each kind of channel has a `name` as its last words in a
    recipe, by which fusion and stages refer to it."""

    about: ClassVar[str]
    family: ClassVar[Family]
    lists: ClassVar[bool] = False  # answers queries that name no topic, and only those

    @property
    def role(self) -> ChannelRole | None:
        """What it does that no other channel of a recipe does."""
        return None

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels it looks at before it decides; they must stand before it."""
        return ()

    @property
    def corrects_typos(self) -> bool:
        """Whether it also searches for the words that typing errors may have changed."""
        return False

    @property
    def reads_languages(self) -> bool:
        """Whether it reads queries in other languages than English by those languages."""
        return False

    @property
    def smooths(self) -> bool:
        """Whether it counts rarity in a vault of a few memories as if there were some more."""
        return False

    def check(self, where: str) -> None:
        """UserError that begins with `where` for what no recipe can mean."""

    def wanted(self, context: SearchContext) -> bool:
        """Whether the query needs it."""
        return True

    def embeds(self, context: SearchContext) -> bool:
        """Whether it asks the embedding model, whatever the other channels find."""
        return False

    def asking_vectors(self, when: str) -> Channel:
        """The same channel, its vectors asked for `when`; itself where it asks for none."""
        return self

    def recall(self, context: SearchContext) -> Ranking | None:
        """Its candidates, best first; None where it could not take part."""
        raise NotImplementedError

    def matches(self, context: SearchContext) -> tuple[KeywordIndexName, str] | None:
        """The keyword index and the FTS5 expression it searches with; None for other channels."""
        return None
