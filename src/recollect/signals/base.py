"""What a signal is: one reason for a memory to stand higher, as a raw value per memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from msgspec import Struct

from recollect.context import ChannelRole, SearchContext
from recollect.recipes.ranges import Weight
from recollect.types import Family, Term, combine


class SignalValue(NamedTuple):
    """A signal's raw value for one memory, and where it comes from: in words, then figures in
    brackets, which only a full explanation shows."""

    raw: float
    how: str


NOTHING = SignalValue(0.0, "")


class Signal(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A signal's share of a score. `with_vectors`, where given, is the weight that holds when an
    embedding model answered for the query."""

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
        """Its name in explanations and in recipe files."""
        return str(self.__struct_config__.tag)

    @property
    def channels(self) -> tuple[str, ...]:
        """The channels it needs, by name."""
        return ()

    @property
    def roles(self) -> tuple[ChannelRole, ...]:
        """The channels it needs, by what they do."""
        return ()

    def values(self, context: SearchContext, ids: Sequence[str]) -> Mapping[str, SignalValue]:
        """The raw values of these memories; a memory left out counts 0."""
        raise NotImplementedError


def added(why: Term, *parts: Term) -> Term:
    """A sum with these parts more. What is no sum, such as one channel's own score, becomes the
    first part of one."""
    before = why.parts if why.formula == "sum" else (why,)
    return combine(why.name, "sum", (*before, *parts))
