"""A recipe: one ranking, declared as data, checked, printable, and identified by its fingerprint.

The tagged unions list all parts that it can have.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple, Union, get_args

import msgspec
from msgspec import Struct
from msgspec.structs import fields

from recollect.context import ChannelRole
from recollect.errors import UserError
from recollect.fuse import FeatureSum, Rrf, WeightedMax
from recollect.fuse import Union as NoFusion
from recollect.hashing import content_digest
from recollect.query.likeness import Likeness
from recollect.recall.keyword import Details, Exact, Keyword
from recollect.recall.lists import Accepted, Listed, Recent, Topic
from recollect.recall.vector import Vector
from recollect.recipes.ranges import AtLeastOne, Count
from recollect.signals import AnySignal
from recollect.stages.adjustments import (
    Browsed,
    Dismissed,
    DonePenalty,
    ExactFloor,
    FixedScore,
    KeywordFloor,
    KindAdjust,
    KindBoost,
    MeaningFloor,
    ScoreFloor,
    Validity,
)
from recollect.stages.ending import ConfidenceVerdict, Cut, NearDuplicates, Neighbours
from recollect.stages.rerank import CrossEncoder, RerankInterpolation
from recollect.stages.signal_sums import Bonus, WeightedSum
from recollect.stages.supersede import Supersede
from recollect.types import Family, View

AnyChannel = Union[Keyword, Vector, Topic, Recent, Exact, Listed, Details, Accepted]  # noqa: UP007
AnyFusion = Union[Rrf, WeightedMax, NoFusion, FeatureSum]  # noqa: UP007
AnyStage = Union[  # noqa: UP007
    WeightedSum,
    Bonus,
    FixedScore,
    Browsed,
    KindBoost,
    CrossEncoder,
    RerankInterpolation,
    Supersede,
    NearDuplicates,
    ExactFloor,
    Validity,
    Dismissed,
    KeywordFloor,
    KindAdjust,
    DonePenalty,
    ScoreFloor,
    MeaningFloor,
    Neighbours,
    Cut,
    ConfidenceVerdict,
]


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """The default and the largest number of results (0: no bound), the keywords that a query needs,
    and the number of results with their whole text in the `preview` view."""

    default: AtLeastOne = 10
    most: Count = 0
    least_keywords: Count = 0
    inlined: Count = 3


class WeightLearning(Struct, frozen=True, forbid_unknown_fields=True):
    """Rules for learning the weights of channels and signals. They learn from `after` questions
    with an accepted result on, and again every `every`; the newest `most` questions are searched
    again. No weight leaves the range from `1 / span` to `span` times the declared one; with a span
    of 1 none moves."""

    after: AtLeastOne = 20
    every: AtLeastOne = 10
    most: AtLeastOne = 40
    span: AtLeastOne = 2


class FeedbackRule(Struct, frozen=True, forbid_unknown_fields=True):
    """A recipe's use of feedback: the queries for which it counts, and how weights learn."""

    likeness: Likeness = Likeness()
    learning: WeightLearning = WeightLearning()


class Recipe(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Recall through channels, fuse, then stage by stage to the answer."""

    name: str
    about: str
    source: str
    view: View
    recall: tuple[AnyChannel, ...]
    fuse: AnyFusion
    stages: tuple[AnyStage, ...]
    limits: Limits = Limits()
    feedback: FeedbackRule | None = None
    deep: Recipe | None = None

    @property
    def fingerprint(self) -> str:
        """Equal for recipes that rank alike, whatever their names."""
        deep = self.deep and msgspec.structs.replace(self.deep, name="", about="", source="")
        bare = msgspec.structs.replace(self, name="", about="", source="", deep=deep)
        # Converted, so that 60 and 60.0 are the same number.
        plain = recipe_of(msgspec.to_builtins(bare))
        return content_digest(msgspec.json.encode(plain, order="sorted").decode(), 6).hex()

    @property
    def reads(self) -> bool:
        """True if it reads lists and exclusions in the words of a query."""
        return any(channel.lists for channel in self.recall)

    @property
    def languages(self) -> bool:
        """True if it reads times in other languages than English."""
        return any(channel.reads_languages for channel in self.recall)

    @property
    def smooth(self) -> bool:
        """True if in a vault of a few memories it computes rarity as if there were more."""
        return any(channel.smooths for channel in self.recall)

    @property
    def roles(self) -> dict[ChannelRole, str]:
        """The names of the channels with a special role."""
        return {channel.role: channel.name for channel in self.recall if channel.role is not None}

    def deferral(self, query: str) -> dict[str, object]:
        """Return the constants, by dotted name, with which no stage reranks this query; empty if
        none would anyway."""
        return {
            f"stages.{stage.name}.{field}": value
            for stage in self.stages
            for field, value in stage.deferral(query).items()
        }

    def with_vectors(self, when: str) -> Recipe:
        """Return this recipe with another `when` for its vector channel (see `recall.vector`)."""
        recall = tuple(channel.with_vectors(when) for channel in self.recall)
        return msgspec.structs.replace(self, recall=recall)


def recipe_of(values: object) -> Recipe:
    """Convert plain values to a recipe; raise msgspec.ValidationError for anything else."""
    return msgspec.convert(values, Recipe)


def check(recipe: Recipe) -> None:
    """Raise UserError, naming the part, if the recipe's parts do not fit together."""
    where = f"Recipe {recipe.name}"
    _check_channels(recipe, where)
    stages = [stage.name for stage in recipe.stages]
    if len(set(stages)) < len(stages):
        raise UserError(f"{where}: two stages have the same name.")
    products = set(recipe.fuse.gives)
    for stage in recipe.stages:
        part = f"{where}: stages.{stage.name}"
        for product in stage.needs:
            if product not in products:
                givers = ", ".join(_givers(product))
                raise UserError(f"{part} needs {product}; put one of these before it: {givers}.")
        for role in stage.roles:
            if role not in recipe.roles:
                raise UserError(f"{part} needs a {role} channel; recall has none.")
        stage.check(part)
        products.update(stage.gives)
    if "limit" not in products:
        raise UserError(f"{where}: no stage of type cut holds the limit.")
    if recipe.deep is not None:
        check(recipe.deep)


def _check_channels(recipe: Recipe, where: str) -> None:
    """Check that every channel that a part names exists, once, and before that part."""
    names: list[str] = []
    for channel in recipe.recall:
        _check_named(f"{where}: recall.{channel.name}", channel.channels, names)
        channel.check(f"{where}: recall.{channel.name}")
        names.append(channel.name)
    if len(set(names)) < len(names):
        raise UserError(f"{where}: two channels of recall have the same name.")
    roles = [channel.role for channel in recipe.recall if channel.role is not None]
    if len(set(roles)) < len(roles):
        raise UserError(f"{where}: two channels of recall search by {roles[0]}.")
    _check_named(f"{where}: fuse", recipe.fuse.channels, names)
    for stage in recipe.stages:
        _check_named(f"{where}: stages.{stage.name}", stage.channels, names)


def _check_named(part: str, channels: tuple[str, ...], known: list[str]) -> None:
    for name in channels:
        if name not in known:
            there = ", ".join(sorted(known))
            raise UserError(f"{part} names the channel {name!r}; recall has: {there}.")


def _givers(product: str) -> Iterator[str]:
    """Yield the types of parts that give a product."""
    for part in (*get_args(AnyFusion), *get_args(AnyStage)):
        if product in part.gives:
            yield part.__struct_config__.tag


class PartInfo(NamedTuple):
    """A part's description in a few words, and its family."""

    about: str
    family: Family


@cache
def part_infos() -> dict[str, PartInfo]:
    """Return every channel, stage and signal by its default name."""
    found: dict[str, PartInfo] = {}
    for part in (*get_args(AnyChannel), *get_args(AnyStage), *get_args(AnySignal)):
        defaults = {field.name: field.default for field in fields(part)}
        name = defaults.get("name", part.__struct_config__.tag)
        if part.about and isinstance(name, str):
            found.setdefault(name, PartInfo(part.about, part.family))
    return found


def about_part(name: str) -> str:
    """Return a part's description; its own name if a user's recipe named it."""
    info = part_infos().get(name)
    return info.about if info else name.replace("_", " ")
