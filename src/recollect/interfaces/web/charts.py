"""Numbers as pictures: charts of scores and search times, and sliders for constants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import floor, isclose, log10
from typing import Any, NamedTuple, get_args

from recollect.present.response import ScoreStep, steps
from recollect.present.sentences import number
from recollect.recipes.base import PartInfo, part_infos
from recollect.recipes.tree import Constant
from recollect.types import Family, Result, Term

# Colours of the families of parts in base.css, in this order: a signal has one colour everywhere.
TONES = {family: tone for tone, family in enumerate(get_args(Family), start=1)}
# A part that a user's recipe has renamed.
UNKNOWN = PartInfo("", "trust")

DROPPED = {
    "pool": "ranked too low when the channels were merged",
    "limit": "ranked below the results shown",
    "near_duplicates": "say the same as a result shown",
    "score_floor": "scored below the recipe's minimum",
    "meaning_floor": "share no word and are hardly related in meaning",
    "least_cosine": "not related enough in meaning",
}
TIMED = {
    "embed": "embed the query",
    "fuse": "merge the channels",
    "load": "read the memories",
    "present": "cut and mark the text",
    "facets": "count for the filters",
}


class Bar(NamedTuple):
    """A step of a waterfall. `x`, `width`: its position in percent. `end`: where the next
    begins."""

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
    """The bars from 0 to the total, the position of 0, and all bars in one line."""

    name: str
    bars: tuple[Bar, ...]
    total: Bar
    zero: float
    strip: tuple[Bar, ...]


class Scale(NamedTuple):
    """The smallest and the largest value to draw; 0 is always between them."""

    least: float
    most: float

    def place(self, value: float) -> float:
        span = self.most - self.least
        return round(100 * (value - self.least) / span, 2) if span else 0.0

    def figure(self, value: float) -> str:
        """Format a number with the decimals of this scale, four digits of the largest, so that
        columns align."""
        largest = max(abs(self.least), abs(self.most))
        decimals = min(8, max(0, 3 - floor(log10(largest)))) if largest else 0
        return f"{value:.{decimals}f}".replace("-", "−")

    def with_sign(self, value: float) -> str:
        """Return `+3.35` or `−0.50`; the sign helps readers who cannot see the colour."""
        return f"+{self.figure(value)}" if value > 0 else self.figure(value)


# Share of the scale → how good a match is.
STRENGTHS = ((0.8, "among the best matches"), (0.5, "a good match"), (0.25, "a fair match"))
WEAKEST = "a weak match, compared with the best"


def scale_of(terms: Iterable[Term]) -> Scale:
    """Return one scale for several charts, so that their bars can be compared."""
    ends = [0.0]
    for term in terms:
        reached = 0.0
        for step in steps(term):
            reached += step.value
            ends.append(reached)
    return Scale(min(ends), max(ends))


def waterfall(term: Term, scale: Scale | None = None) -> Waterfall:
    """Return the chart of one score, on its own scale by default."""
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
    means = about if step.value else ""  # "holds an exact term" is not true of a part that is 0
    x, stop = sorted((scale.place(start), scale.place(end)))
    return Bar(
        step.name, step.value, scale.with_sign(step.value), step.formula, step.how,
        means, TONES[family],
        x, round(stop - x, 2), scale.place(end),
    )  # fmt: skip


def with_sign(value: float) -> str:
    """Return a single number as `+3.35`, `−0.5` or `0`."""
    sign = "+" if value > 0 else "−" if value < 0 else ""
    return sign + number(abs(value))


def took(timings: Mapping[str, float]) -> list[dict[str, Any]]:
    """Return the time of each part of a search. `stages`, which is a sum, and the model time of a
    stage, which it includes, are left out. `share`: percent of the longest."""
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
    """Return the number of dropped memories for each reason, most first."""
    reasons = sorted(dropped.items(), key=lambda counted: -counted[1])
    return [(count, DROPPED.get(reason, f"dropped by {reason}")) for reason, count in reasons]


def strength(result: Result, scale: Scale) -> str:
    """Describe a match compared with the best of the same search. Scores of different recipes are
    not comparable and may be negative."""
    share = scale.place(result.score) / 100
    return next((words for least, words in STRENGTHS if share >= least), WEAKEST)


# Sliders for the constants of a recipe

# The constants that matter most: shown first and open.
WEIGHTS = "weights"
WEIGHING = {"weight", "with_vectors", "factor"}
WEIGHED = {"weights", "factors"}
NOTCHES = 200  # steps of a slider: fine enough for a hand, coarse enough for round numbers
TINY = 0.05  # a smaller constant gets a range of its own size instead of one up to 1


class Slider(NamedTuple):
    """One constant. `value` and `declared`: as a person would type them. `low`, `high`, `step`: of
    the slider only; its number field takes anything that the recipe allows."""

    name: str
    label: str
    value: str
    declared: str
    changed: bool
    constant: Constant
    low: float
    high: float
    step: float


class SliderGroup(NamedTuple):
    """The sliders of one part of a recipe."""

    name: str
    sliders: tuple[Slider, ...]
    open: bool

    @property
    def changed(self) -> int:
        return sum(slider.changed for slider in self.sliders)


def slider_groups(
    declared: list[Constant], changes: Mapping[str, object]
) -> tuple[SliderGroup, ...]:
    """Return the weights, then the parts in the order of the recipe."""
    groups: dict[str, list[Slider]] = {WEIGHTS: []}
    for constant in declared:
        group, label = _place(constant.name)
        groups.setdefault(group, []).append(_slider(constant, label, changes.get(constant.name)))
    found = {name: sliders for name, sliders in groups.items() if sliders}
    opened = WEIGHTS if WEIGHTS in found else "fuse"
    return tuple(
        SliderGroup(name, tuple(sliders), name == opened) for name, sliders in found.items()
    )


def is_default(value: object, declared: float) -> bool:
    """Return True if a value is the declared one."""
    try:
        return isclose(float(str(value)), declared, rel_tol=1e-11)
    except ValueError:
        return value == ""


def number_text(value: float) -> str:
    """Return `0.18` for 0.18000000000000002, and `60` for 60.0."""
    return f"{value:.12g}"


def _place(name: str) -> tuple[str, str]:
    """Return the group of a constant, and its label there."""
    parts = name.split(".")
    if parts[-1] in WEIGHING or parts[-2] in WEIGHED:
        return WEIGHTS, _weight_label(parts)
    depth = 2 if parts[0] in ("recall", "stages") else 1
    rest = [part for part in parts[depth:] if part not in ("signals", "depth")]
    return ".".join(parts[:depth]), ".".join(rest)


def _weight_label(parts: list[str]) -> str:
    """Return a label such as `fuse.vector`, `exact`, `semantic.with_vectors` or `rerank`."""
    if parts[-2] in WEIGHED:
        return f"{parts[-3]}.{parts[-1]}"
    return parts[-2] if parts[-1] != "with_vectors" else f"{parts[-2]}.with_vectors"


def _slider(constant: Constant, label: str, change: object) -> Slider:
    low, high = _range(constant)
    declared = number_text(constant.value)
    is_number = isinstance(change, int | float) and not isinstance(change, bool)
    value = number_text(float(str(change))) if is_number else str(change)
    return Slider(
        name=constant.name,
        label=label,
        value=declared if change is None else value,
        declared=declared,
        changed=change is not None,
        constant=constant,
        low=low,
        high=high,
        step=1 if constant.whole else _step(high - low),
    )


def _range(constant: Constant) -> tuple[float, float]:
    """Return 0 to a few times the declared value, or the whole range if that is small."""
    least, most, size = constant.least, constant.most, abs(constant.value)
    if most - least <= 2:
        low, high = least, most
    else:
        reach = 4 * size if 0 < size < TINY else max(10.0 if constant.whole else 1.0, 4 * size)
        low, high = max(least, -reach), min(most, reach)
    return (low + _step(high - low) if constant.above else low), high


def _step(width: float) -> float:
    """Return a round number near width / NOTCHES: 0.01, 0.02, 0.05, 0.1, …"""
    raw = width / NOTCHES
    power = 10.0 ** floor(log10(raw))
    return next(power * times for times in (1, 2, 5, 10) if raw <= power * times * 1.000001)
