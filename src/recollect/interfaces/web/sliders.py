"""The constants of a recipe as sliders, in groups, each with a useful range."""

from __future__ import annotations

from collections.abc import Mapping
from math import floor, isclose, log10
from typing import NamedTuple

from recollect.recipes.constants import Constant

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
    """Return a label such as `fuse.vector`, `proximity`, `semantic.with_vectors` or `rerank`."""
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
