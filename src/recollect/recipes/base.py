"""A recipe: one ranking, declared as data, checked, printable, and known by its fingerprint."""

from __future__ import annotations

from typing import Union

import msgspec
from msgspec import Struct

from recollect.errors import UserError
from recollect.fuse import rrf, union, weighted, zscore
from recollect.hashing import content_digest
from recollect.recall.exact import Exact
from recollect.recall.keyword import Keyword
from recollect.recall.recent import Recent
from recollect.recall.topic import Topic
from recollect.recall.vector import Vector
from recollect.recipes.ranges import AtLeastOne, Count
from recollect.stages.bonus import Bonus
from recollect.stages.cross_encoder import CrossEncoder
from recollect.stages.cut import Cut
from recollect.stages.evidence import Evidence
from recollect.stages.exact_floor import ExactFloor
from recollect.stages.fixed_scores import Browsed, FixedScore
from recollect.stages.floors import KeywordFloor, ScoreFloor
from recollect.stages.kind_adjustments import DonePenalty, KindAdjust, KindBoost
from recollect.stages.near_duplicates import NearDuplicates
from recollect.stages.rerank_interpolation import RerankInterpolation
from recollect.stages.supersede import Supersede
from recollect.stages.weighted_sum import Adaptive, WeightedSum
from recollect.store.base import COLUMNS
from recollect.types import View

# Tagged unions for msgspec: what a recipe may be made of.
Channel = Union[Keyword, Vector, Topic, Recent, Exact]  # noqa: UP007
Fusion = Union[rrf.Rrf, weighted.WeightedMax, union.Union, zscore.ZScoreFusion]  # noqa: UP007
Stage = Union[  # noqa: UP007
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
    KeywordFloor,
    KindAdjust,
    DonePenalty,
    ScoreFloor,
    Cut,
]


class Limits(Struct, frozen=True, forbid_unknown_fields=True):
    """How many results come unasked, how many at most (0: no bound), what a query must have, and
    how many results carry their whole text in the `preview` view."""

    default: AtLeastOne = 10
    most: Count = 0
    least_keywords: Count = 0
    inlined: Count = 3


class Recipe(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Recall through channels, fuse, then stage by stage to the answer."""

    name: str
    about: str
    source: str
    view: View
    recall: tuple[Channel, ...]
    fuse: Fusion
    stages: tuple[Stage, ...]
    limits: Limits = Limits()
    evidence: Evidence | None = None
    deep: Recipe | None = None

    @property
    def fingerprint(self) -> str:
        """The same for two recipes that rank the same way, whatever they are called."""
        deep = self.deep and msgspec.structs.replace(self.deep, name="", about="", source="")
        bare = msgspec.structs.replace(self, name="", about="", source="", deep=deep)
        # Converted, so that 60 and 60.0 are the same number here too.
        plain = msgspec.convert(msgspec.to_builtins(bare), Recipe)
        return content_digest(msgspec.json.encode(plain, order="sorted").decode(), 6).hex()


def check(recipe: Recipe) -> None:
    """Whether the recipe hangs together: raises UserError that names the part that does not."""
    channels = {channel.name for channel in recipe.recall}
    if len(channels) < len(recipe.recall):
        raise UserError(f"Recipe {recipe.name}: two channels of recall have the same name.")
    stages = [stage.name for stage in recipe.stages]
    if len(set(stages)) < len(stages):
        raise UserError(f"Recipe {recipe.name}: two stages have the same name.")
    for where, name in _named_channels(recipe):
        if name not in channels:
            known = ", ".join(sorted(channels))
            raise UserError(
                f"Recipe {recipe.name}: {where} names the channel {name!r}; recall has: {known}."
            )
    for channel in recipe.recall:
        if isinstance(channel, Keyword):
            _check_columns(recipe, channel)
    for stage in recipe.stages:
        if isinstance(stage, WeightedSum) and stage.adaptive is not None:
            _check_adaptive(recipe, stage, stage.adaptive)
    if not any(isinstance(stage, Cut) for stage in recipe.stages):
        raise UserError(f"Recipe {recipe.name}: no stage of type cut holds the limit.")
    if recipe.deep is not None:
        check(recipe.deep)


def _named_channels(recipe: Recipe) -> list[tuple[str, str]]:
    """Where the recipe refers to a channel by name."""
    found = [("fuse", name) for name in fused_channels(recipe.fuse)]
    for stage in recipe.stages:
        if isinstance(stage, FixedScore | Browsed):
            found.append((f"stages.{stage.name}", stage.channel))
        if isinstance(stage, Cut) and stage.guard_channel:
            found.append((f"stages.{stage.name}", stage.guard_channel))
    return found


def fused_channels(fuse: Fusion) -> tuple[str, ...]:
    """The channels whose candidates fusion takes; others join in a stage of their own."""
    match fuse:
        case weighted.WeightedMax():
            return tuple(fuse.weights)
        case zscore.ZScoreFusion():
            return (*fuse.weights, *fuse.added, *fuse.added.values(), *fuse.kept)
    return fuse.channels


def _check_adaptive(recipe: Recipe, stage: WeightedSum, adaptive: Adaptive) -> None:
    """Weights that learn need names that are there, and others to take from and give to."""
    where = f"Recipe {recipe.name}: stages.{stage.name}.adaptive"
    signals = {signal.name: signal for signal in stage.signals}
    for name in (adaptive.signal, *adaptive.fixed):
        if name not in signals:
            raise UserError(f"{where} names {name!r}; the signals are: {', '.join(signals)}.")
    others = [signals[name] for name in signals if name not in (adaptive.signal, *adaptive.fixed)]
    for weights in ([one.weight for one in others], [one.weight_with_vectors for one in others]):
        if not any(weights):
            raise UserError(
                f"{where} scales the weights of the other signals, and all of them are 0."
            )


def _check_columns(recipe: Recipe, channel: Keyword) -> None:
    known = COLUMNS[channel.index]
    for column in channel.columns:
        if column not in known:
            raise UserError(
                f"Recipe {recipe.name}: recall.{channel.name}.columns.{column} is not a column of "
                f"the {channel.index} index; allowed are: {', '.join(known)}."
            )
    if not channel.columns:
        raise UserError(f"Recipe {recipe.name}: recall.{channel.name}.columns is empty.")
