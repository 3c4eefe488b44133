"""The pictures of a score and of the time of a search: positions and labels of the bars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import floor, log10
from typing import Any, NamedTuple, get_args

from recollect.present.explain import ScoreStep, steps
from recollect.present.words import number
from recollect.recipes.parts import PartInfo, part_infos
from recollect.types import Family, Result, Term

# Each family of parts has a colour of its own in base.css, in this order: one signal has the same
# colour in every picture.
TONES = {family: tone for tone, family in enumerate(get_args(Family), start=1)}
# A part to which a user's recipe gave another name.
UNKNOWN = PartInfo("", "trust")

DROPPED = {
    "pool": "too far behind when the channels were merged",
    "limit": "ranked below those shown",
    "near_duplicates": "says the same as one that is shown",
    "score_floor": "scored under the recipe's floor",
    "meaning_floor": "shares no word, and hardly stands out in meaning",
    "least_cosine": "too far away in meaning",
}
TIMED = {
    "embed": "embed the query",
    "fuse": "merge the channels",
    "load": "read the memories",
    "present": "cut and mark the text",
    "facets": "count for the filters",
}


class Bar(NamedTuple):
    """A step in the picture: from `x` over `width`, in percent, to `end`, where the next begins."""

    name: str
    value: float
    label: str
    formula: str
    how: str
    means: str
    tone: int
    x: float
    width: float
    end: float


class Waterfall(NamedTuple):
    """Bars from 0 to the total, the position of 0, and all bars in one line."""

    name: str
    bars: tuple[Bar, ...]
    total: Bar
    zero: float
    strip: tuple[Bar, ...]


class Scale(NamedTuple):
    """The smallest and the largest value that has to be drawn; 0 is always between them."""

    least: float
    most: float

    def place(self, value: float) -> float:
        span = self.most - self.least
        return round(100 * (value - self.least) / span, 2) if span else 0.0

    def figure(self, value: float) -> str:
        """As many decimals for all that is on the scale, so that figures stand below each other:
        four digits of the largest."""
        largest = max(abs(self.least), abs(self.most))
        decimals = min(8, max(0, 3 - floor(log10(largest)))) if largest else 0
        return f"{value:.{decimals}f}".replace("-", "−")

    def signed(self, value: float) -> str:
        """`+3.35`, `−0.50`: the sign is written, so that nobody depends on the colour."""
        return f"+{self.figure(value)}" if value > 0 else self.figure(value)


# How far up the scale a result is, and what that is called.
STRENGTHS = ((0.8, "among the best matches"), (0.5, "a good match"), (0.25, "a fair match"))
WEAKEST = "a weak match, compared with the best"


def scale_of(terms: Iterable[Term]) -> Scale:
    """One scale for several pictures, so that their bars can be compared."""
    ends = [0.0]
    for term in terms:
        reached = 0.0
        for step in steps(term):
            reached += step.value
            ends.append(reached)
    return Scale(min(ends), max(ends))


def waterfall(term: Term, scale: Scale | None = None) -> Waterfall:
    """The picture of one score; on a scale of its own unless one is given."""
    scale = scale or scale_of([term])
    bars, reached = [], 0.0
    for step in steps(term):
        bars.append(_bar(step, reached, reached + step.value, scale))
        reached += step.value
    total = _bar(ScoreStep(term.name, term.value, "sum of the above", ""), 0.0, term.value, scale)
    total = total._replace(label=scale.figure(term.value))
    strip = [bar for bar in bars if bar.width > 0]
    return Waterfall(term.name, tuple(bars), total, scale.place(0.0), tuple(strip))


def _bar(step: ScoreStep, start: float, end: float, scale: Scale) -> Bar:
    about, family = part_infos().get(step.name, UNKNOWN)
    x, stop = sorted((scale.place(start), scale.place(end)))
    return Bar(
        step.name, step.value, scale.signed(step.value), step.formula, step.how,
        about, TONES[family],
        x, round(stop - x, 2), scale.place(end),
    )  # fmt: skip


def signed(value: float) -> str:
    """`+3.35`, `−0.5`, `0`, for a figure that stands alone."""
    sign = "+" if value > 0 else "−" if value < 0 else ""
    return sign + number(abs(value))


def took(timings: Mapping[str, float]) -> list[dict[str, Any]]:
    """How long each part of a search took, in its order. `stages` is the sum of its stages, and a
    stage that asks a model times that once more under its own name: neither counts twice. `share`
    is in percent of the longest."""
    own = {name for name in timings if f"stages.{name}" in timings}
    parts = {
        name: spent
        for name, spent in timings.items()
        if name not in ("total", "stages") and name not in own
    }
    longest = max(parts.values(), default=0.0) or 1.0
    return [
        {"means": _part(name), "ms": spent, "share": round(100 * spent / longest, 2)}
        for name, spent in parts.items()
    ]


def _part(name: str) -> str:
    kind, _, stage = name.partition("stages.")
    return f"stage {stage}" if stage else TIMED.get(kind, f"channel {kind}")


def not_shown(dropped: Mapping[str, int]) -> list[tuple[int, str]]:
    """How many memories are not shown for which reason, most first."""
    reasons = sorted(dropped.items(), key=lambda counted: -counted[1])
    return [(count, DROPPED.get(reason, f"dropped by {reason}")) for reason, count in reasons]


def strength(result: Result, scale: Scale) -> str:
    """How good a match is, compared with the best of the same search, in words: the scores of
    recipes have no common scale, and may begin below 0."""
    share = scale.place(result.score) / 100
    return next((words for least, words in STRENGTHS if share >= least), WEAKEST)
