"""Three kinds of charts as SVG, drawn by hand: the same data give the same bytes everywhere.

White background, text as text, nothing loaded from elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import NamedTuple

FONTS = "system-ui, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif"
INK, SOFT, GRID = "#24292f", "#57606a", "#d8dee4"
# How many lines of the grid an axis has, about.
LINES = 4
# How wide a letter is, about.
LETTER = 6.7


class Dot(NamedTuple):
    """A value with its interval."""

    name: str
    value: float
    low: float
    high: float
    colour: str


class Spot(NamedTuple):
    """A dot with a value on the other axis."""

    dot: Dot
    x: float


class Curve(NamedTuple):
    name: str
    points: Sequence[tuple[float, float]]
    colour: str


class Scale(NamedTuple):
    """Maps a value to a position in the picture."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)


def dot_panels(panels: Sequence[tuple[str, Sequence[Dot]]], *, columns: int = 5) -> str:
    """Draw a panel for each set and a row for each name; every panel has its own scale."""
    names = list(dict.fromkeys(dot.name for _, dots in panels for dot in dots))
    columns = min(columns, len(panels))
    margin, panel, gap, line = 128, 168, 14, 19
    height = 30 + line * len(names) + 34
    parts = []
    for place, (title, dots) in enumerate(panels):
        left = margin + place % columns * (panel + gap)
        top = place // columns * height + 30
        bottom = top + line * len(names)
        across = _fitted(dots, left + 10, left + panel - 10)
        parts.append(_text(left + panel / 2, top - 10, title, "middle", weight="bold"))
        parts.append(_box(left, top, panel, bottom - top))
        for tick in ticks(across.low, across.high):
            parts.append(_line(across(tick), top, across(tick), bottom, GRID))
            parts.append(_text(across(tick), bottom + 15, f"{tick:.2f}", "middle", SOFT, 10.5))
        by_name = {dot.name: dot for dot in dots}
        for row, name in enumerate(names):
            y = top + line * (row + 0.5)
            if place % columns == 0:
                parts.append(_text(margin - 10, y + 4, name, "end"))
            if name in by_name:
                dot = by_name[name]
                ends = across(dot.low), across(dot.high)
                parts.append(_line(ends[0], y, ends[1], y, dot.colour, 2))
                parts.append(_circle(across(dot.value), y, dot.colour, dot))
    rows = math.ceil(len(panels) / columns)
    return _picture(margin + columns * (panel + gap), rows * height, parts)


def scatter(spots: Sequence[Spot], across_title: str, up_title: str) -> str:
    """Draw values with their intervals over a logarithmic axis, each with its name."""
    width, height, left, right, top, bottom = 900, 460, 64, 130, 16, 412
    exponents = [math.log10(spot.x) for spot in spots]
    across = Scale(min(exponents) - 0.15, max(exponents) + 0.15, left, width - right)
    up = _fitted([spot.dot for spot in spots], bottom - 10, top + 10)
    parts = [_box(left, top, width - right - left, bottom - top)]
    for power in range(math.floor(across.low), math.ceil(across.high) + 1):
        for step in (1, 2, 5):
            x = across(power + math.log10(step))
            if left <= x <= width - right:
                parts.append(_line(x, top, x, bottom, GRID))
                label = f"{step * 10.0**power:g}"
                parts.append(_text(x, bottom + 17, label, "middle", SOFT))
    for tick in ticks(up.low, up.high):
        parts.append(_line(left, up(tick), width - right, up(tick), GRID))
        parts.append(_text(left - 8, up(tick) + 4, f"{tick:.2f}", "end", SOFT))
    places = [(across(math.log10(spot.x)), up(spot.dot.value)) for spot in spots]
    for (x, _), spot in zip(places, spots, strict=True):
        parts.append(_line(x, up(spot.dot.low), x, up(spot.dot.high), spot.dot.colour, 1.5))
    for (x, y), spot in zip(places, spots, strict=True):
        parts.append(_circle(x, y, spot.dot.colour, spot.dot))
    parts += _labels(places, [spot.dot.name for spot in spots])
    middle = (left + width - right) / 2
    parts.append(_text(middle, height - 10, across_title, "middle"))
    parts.append(_text(16, (top + bottom) / 2, up_title, "middle", turned=True))
    return _picture(width, height, parts)


def curves(lines: Sequence[Curve], across_title: str, up_title: str) -> str:
    """Draw lines in the unit square, the diagonal, and a legend below."""
    side, left, top = 420, 64, 16
    across, up = Scale(0, 1, left, left + side), Scale(0, 1, top + side, top)
    parts = [_box(left, top, side, side)]
    for tick in (0, 0.2, 0.4, 0.6, 0.8, 1):
        parts.append(_line(across(tick), top, across(tick), top + side, GRID))
        parts.append(_line(left, up(tick), left + side, up(tick), GRID))
        parts.append(_text(across(tick), top + side + 17, f"{tick:.1f}", "middle", SOFT))
        parts.append(_text(left - 8, up(tick) + 4, f"{tick:.1f}", "end", SOFT))
    parts.append(_line(left, top + side, left + side, top, SOFT, dashed=True))
    for row, curve in enumerate(lines):
        places = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y in curve.points)
        parts.append(
            f'<polyline points="{places}" fill="none" stroke="{curve.colour}" stroke-width="2"/>'
        )
        y = top + side + 70 + 20 * row
        parts.append(_line(left, y, left + 24, y, curve.colour, 3))
        parts.append(_text(left + 32, y + 4, curve.name, "start"))
    parts.append(_text(left + side / 2, top + side + 42, across_title, "middle"))
    parts.append(_text(16, top + side / 2, up_title, "middle", turned=True))
    longest = max((len(curve.name) for curve in lines), default=0)
    width = max(left + side, left + 32 + LETTER * longest) + 20
    return _picture(width, top + side + 66 + 20 * len(lines), parts)


def ticks(low: float, high: float) -> list[float]:
    """Return round numbers between two others, about `LINES` of them."""
    rough = (high - low) / LINES
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * times for times in (1, 2, 5, 10) if power * times >= rough * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(place * step, 10) for place in range(first, last + 1)]


def _fitted(dots: Iterable[Dot], start: float, end: float) -> Scale:
    """Return a scale that shows every interval completely."""
    bounds = [bound for dot in dots for bound in (dot.low, dot.high, dot.value)]
    low, high = min(bounds), max(bounds)
    return Scale(low, high if high - low > 0.01 else low + 0.01, start, end)


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Box) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


def _labels(places: Sequence[tuple[float, float]], names: Sequence[str]) -> Iterator[str]:
    """Put each name near its spot without covering a spot or another name."""
    taken = [Box(x - 6, y - 6, x + 6, y + 6) for x, y in places]
    for (x, y), name in zip(places, names, strict=True):
        width = LETTER * len(name)
        beside = [(side, down) for down in (0, -14, 14, -28, 28) for side in ("start", "end")]
        for side, down in beside:
            left = x + 9 if side == "start" else x - 9 - width
            box = Box(left, y + down - 7, left + width, y + down + 7)
            if not any(box.meets(other) for other in taken):
                break
        else:
            side, down = beside[0]
        taken.append(box)
        yield _text(x + (9 if side == "start" else -9), y + down + 4, name, side, halo=True)


def _picture(width: float, height: float, parts: Iterable[str]) -> str:
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="{FONTS}">',
            f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
            *parts,
            "</svg>\n",
        )
    )


def _text(
    x: float,
    y: float,
    words: str,
    anchor: str,
    colour: str = INK,
    size: float = 12,
    *,
    weight: str = "normal",
    turned: bool = False,
    halo: bool = False,
) -> str:
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    bold = "" if weight == "normal" else f' font-weight="{weight}"'
    if halo:
        bold += ' stroke="#ffffff" stroke-width="4" paint-order="stroke" stroke-linejoin="round"'
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}" font-size="{size:g}" '
        f'text-anchor="{anchor}"{bold}{turn}>{escape(words)}</text>'
    )


def _line(
    x: float, y: float, to_x: float, to_y: float, colour: str, wide: float = 1, dashed: bool = False
) -> str:
    dashes = ' stroke-dasharray="5 4"' if dashed else ""
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="{colour}" '
        f'stroke-width="{wide:g}"{dashes}/>'
    )


def _box(left: float, top: float, width: float, height: float) -> str:
    return (
        f'<rect x="{left:.1f}" y="{top:.1f}" width="{width:.1f}" height="{height:.1f}" '
        f'fill="none" stroke="{GRID}"/>'
    )


def _circle(x: float, y: float, colour: str, dot: Dot) -> str:
    label = f"{dot.name}: {dot.value:.3f} ({dot.low:.3f}–{dot.high:.3f})"
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}">'
        f"<title>{escape(label)}</title></circle>"
    )
