"""The base class of signals. A signal is one reason to rank a memory higher, as a raw value per
memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from msgspec import Struct

from recollect.context import ChannelRole, SearchContext
from recollect.recipes.ranges import Weight
from recollect.types import Family, Term, combine


class SignalValue(NamedTuple):
    """A signal's raw value for a memory and its origin: in words, then figures in brackets, which
    only a full explanation shows."""

    raw: float
    how: str


NOTHING = SignalValue(0.0, "")


class Signal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signal's share of a score. `with_vectors`: the weight if an embedding model answered for
    the query."""

    about: ClassVar[str]
    family: ClassVar[Family]
    reads_time: ClassVar[bool] = False

    weight: Weight
    with_vectors: Weight | None = None

    @property
    def weight_with_vectors(self) -> float:
        return self.weight if self.with_vectors is None else self.with_vectors

    @property
    def name(self) -> str:
        """The name in explanations and recipe files."""
        return str(self.__struct_config__.tag)

    @property
    def channels(self) -> tuple[str, ...]:
        """The names of the channels that it needs."""
        return ()

    @property
    def roles(self) -> tuple[ChannelRole, ...]:
        """The roles of the channels that it needs."""
        return ()

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        """Return the raw values of these memories; a missing memory counts 0."""
        raise NotImplementedError


def add_parts(why: Term, *parts: Term) -> Term:
    """Return a sum with more parts. A term that is no sum, such as a channel's score, becomes its
    first part."""
    before = why.parts if why.formula == "sum" else (why,)
    return combine(why.name, "sum", (*before, *parts))
