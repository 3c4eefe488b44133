"""When memories were made and when they expire, as a picture, a table and two lists."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from functools import partial
from math import ceil, floor, log10
from typing import Literal

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from recollect.engine import Recollect
from recollect.interfaces.http.asking import Narrowing, from_parameters
from recollect.interfaces.http.service import Service
from recollect.interfaces.web.browse import applied, filters, narrowing_path, parameters
from recollect.interfaces.web.memories import heading
from recollect.interfaces.web.rendering import page, query_string
from recollect.store.base import Dates
from recollect.types import Filter, Memory

Grain = Literal["day", "week", "month", "year"]
Span = Literal["fit", "all", "year", "quarter", "month"]

# More bars than this would be thinner than a finger and a screen allow.
MOST_BARS = 130
# Chosen by itself, a grain gives bars that are told apart at a glance.
USUAL_BARS = 64
# By itself the picture looks this far ahead: one memory that expires in 2099 must not flatten it.
AHEAD = timedelta(days=400)
# A vault of today is still drawn as days, not as one bar as wide as the page.
LEAST = timedelta(days=13)
# Even everything ends somewhere: what lies farther from today is told in words.
FARTHEST = timedelta(days=64 * 365)
SPANS: dict[Span, tuple[str, timedelta | None]] = {
    "fit": ("Fit", None),
    "all": ("Everything", None),
    "year": ("A year around today", timedelta(days=183)),
    "quarter": ("Three months", timedelta(days=46)),
    "month": ("A month", timedelta(days=15)),
}
GRAINS: dict[Grain, int] = {"day": 1, "week": 7, "month": 30, "year": 365}

HEIGHT = 240  # of both sides together, in pixels; the labels stand outside
LEAST_SIDE = 28
SOON = timedelta(days=30)
LISTED = 20


class Looking(Narrowing, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which memories, and how they are drawn."""

    by: Grain | None = None
    span: Span = "fit"


class Bar(Struct, frozen=True):
    """One stretch of time. `x` and `width` are percentages, the rest pixels."""

    label: str
    first: date
    last: date
    made: int
    expiring: int
    x: float
    width: float
    up: float
    down: float
    href: str


class Picture(Struct, frozen=True):
    """The bars and what stands around them."""

    bars: tuple[Bar, ...]
    grain: Grain
    axis: float
    height: float
    today: float | None
    ticks: tuple[tuple[float, str], ...]
    steps: tuple[tuple[float, str], ...]
    outside: str


def routes(service: Service) -> list[BaseRoute]:
    return [
        Route("/timeline", partial(timeline, service)),
        Route("/timeline/filters", partial(filters, service, "/timeline")),
    ]


async def timeline(service: Service, request: Request) -> Response:
    asked: Looking = from_parameters(Looking, request.query_params)
    engine, now = service.engine, service.engine.now()
    narrowed = await service.ask(asked.filter, engine)
    dates = await service.ask(engine.dates, narrowed)
    ends = await service.ask(expiry, engine, narrowed, dates, now)
    today = now.astimezone(UTC).date()
    window = spanned(dates, asked.span, today)
    values = {
        "picture": drawn(dates, window, asked.by, today, parameters(asked)) if window else None,
        "total": sum(dates.made.values()),
        "expiring": sum(dates.expiring.values()),
        "narrows": narrowed.narrows(),
        "spans": _spans(asked),
        "grains": _grains(asked, window) if window else [],
        "chips": applied("/timeline", asked),
        "filters": f"/timeline/filters?{query_string(**parameters(asked))}",
        "asked": asked,
        "now": now,
        "ends": ends,
        "heading": heading,
    }
    return page("timeline.html", request, values)


# What expires


class Expiry(Struct, frozen=True):
    """What expires soon, soonest first, and what has expired, latest first: the first of them, and
    how many there are. Where there are more than are listed, whole days are counted."""

    coming: int
    past: int
    soon: tuple[Memory, ...] = ()
    gone: tuple[Memory, ...] = ()


def expiry(engine: Recollect, narrowed: Filter, dates: Dates, now: datetime) -> Expiry:
    if not dates.expiring:
        return Expiry(0, 0)
    today = now.astimezone(UTC).date()
    soon = tuple(engine.expiring(narrowed, LISTED + 1, within=SOON))
    gone = tuple(engine.expired(narrowed, LISTED + 1))
    coming = sum(n for day, n in dates.expiring.items() if today <= day <= today + SOON)
    past = sum(n for day, n in dates.expiring.items() if day < today)
    return Expiry(
        coming if len(soon) > LISTED else len(soon),
        past if len(gone) > LISTED else len(gone),
        soon[:LISTED],
        gone[:LISTED],
    )


# Stretches of time


def spanned(dates: Dates, span: Span, today: date) -> tuple[date, date] | None:
    """The first and last day of the picture; None where there is nothing to draw."""
    days = [*dates.made, *dates.expiring]
    if not days:
        return None
    around = SPANS[span][1]
    if around is not None:
        return _moved(today, -around), _moved(today, around)
    first, last = min(*days, today), max(*days, today)
    if span == "fit" and dates.made:
        first = min(_begun(dates.made, today), _moved(today, -LEAST))
        last = min(last, max(*dates.made, _moved(today, AHEAD)))
    return max(first, _moved(today, -FARTHEST)), min(last, _moved(today, FARTHEST))


def _begun(made: Mapping[date, int], today: date) -> date:
    """The first day on which memories were made, without the few that are by far older than all
    others: a wrong date must not flatten the picture."""
    few = max(1, sum(made.values()) // 50)
    days, passed = sorted(made), 0
    for day in days:
        passed += made[day]
        if passed > few:
            return day if (today - day) * 3 < today - days[0] else days[0]
    return days[0]


def start_of(day: date, grain: Grain) -> date:
    """The first day of the stretch that the day lies in; weeks begin on Monday."""
    match grain:
        case "day":
            return day
        case "week":
            return _moved(day, -timedelta(days=day.weekday()))
        case "month":
            return day.replace(day=1)
    return day.replace(month=1, day=1)


def end_of(start: date, grain: Grain) -> date:
    """The last day of the stretch that begins here."""
    match grain:
        case "day":
            return start
        case "week":
            return _moved(start, timedelta(days=6))
        case "month":
            return start.replace(day=monthrange(start.year, start.month)[1])
    return start.replace(month=12, day=31)


def bars_needed(window: tuple[date, date], grain: Grain) -> int:
    """About how many bars a grain gives."""
    return (window[1] - window[0]).days // GRAINS[grain] + 1


def chosen_grain(window: tuple[date, date], by: Grain | None) -> Grain:
    """What was asked for where it fits; else the finest with bars that are told apart."""
    if by and bars_needed(window, by) <= MOST_BARS:
        return by
    return next((grain for grain in GRAINS if bars_needed(window, grain) <= USUAL_BARS), "year")


def _moved(day: date, by: timedelta) -> date:
    """A day can lie at the very beginning or end of the calendar."""
    try:
        return day + by
    except OverflowError:
        return date.max if by > timedelta(0) else date.min


# The picture


def drawn(
    dates: Dates,
    window: tuple[date, date],
    by: Grain | None,
    today: date,
    narrowing: Mapping[str, object],
) -> Picture:
    """Bars above the axis for what was made, below it for what expires, on one scale."""
    grain = chosen_grain(window, by)
    starts = _starts(window, grain)
    made, expiring = (
        _gathered(counts, grain, starts[0], end_of(starts[-1], grain)) for counts in dates
    )
    most = (max(made.values(), default=0), max(expiring.values(), default=0))
    axis, below = _sides(*most)
    scale = min(axis / most[0] if most[0] else HEIGHT, below / most[1] if most[1] else HEIGHT)
    step = 100 / len(starts)
    bars = tuple(
        Bar(
            label=_label(start, grain),
            first=start,
            last=end_of(start, grain),
            made=made.get(start, 0),
            expiring=expiring.get(start, 0),
            x=round(place * step, 3),
            width=round(step, 3),
            up=_tall(made.get(start, 0) * scale),
            down=_tall(expiring.get(start, 0) * scale),
            href=_listing(start, end_of(start, grain), narrowing),
        )
        for place, start in enumerate(starts)
    )
    length = (end_of(starts[-1], grain) - starts[0]).days + 1
    inside = starts[0] <= today <= end_of(starts[-1], grain)
    return Picture(
        bars=bars,
        grain=grain,
        axis=axis,
        height=axis + below,
        today=round(((today - starts[0]).days + 0.5) / length * 100, 3) if inside else None,
        ticks=_ticks(starts, grain, step),
        steps=_steps(most[0], axis, scale),
        outside=_outside(dates, starts[0], end_of(starts[-1], grain)),
    )


def _starts(window: tuple[date, date], grain: Grain) -> list[date]:
    """Where each bar begins; never more than the picture holds, the latest ones."""
    starts, at, last = [], start_of(window[0], grain), window[1]
    while at <= last:
        starts.append(at)
        end = end_of(at, grain)
        if end == date.max:
            break
        at = end + timedelta(days=1)
    return starts[-MOST_BARS:]


def _gathered(counts: Mapping[date, int], grain: Grain, first: date, last: date) -> dict[date, int]:
    gathered: dict[date, int] = {}
    for day, count in counts.items():
        if first <= day <= last:
            start = start_of(day, grain)
            gathered[start] = gathered.get(start, 0) + count
    return gathered


def _sides(made: int, expiring: int) -> tuple[float, float]:
    """How much of the height is above the axis and below it: as much as the counts need."""
    if not expiring:
        return HEIGHT, 0
    above = HEIGHT * made / (made + expiring)
    above = min(max(above, LEAST_SIDE), HEIGHT - LEAST_SIDE)
    return round(above, 1), round(HEIGHT - above, 1)


def _tall(height: float) -> float:
    """One memory among thousands is still a bar that can be seen."""
    return round(max(height, 2.0), 1) if height else 0


def _steps(most: int, axis: float, scale: float) -> tuple[tuple[float, str], ...]:
    """Lines across at round numbers, a handful, above the axis."""
    if most < 1:
        return ()
    rough = most / 3
    power = 10 ** floor(log10(rough)) if rough > 0 else 1
    step = max(1, next(n * power for n in (1, 2, 5, 10) if n * power >= rough))
    count = floor(most / step)
    return tuple(
        (round(axis - number * step * scale, 1), f"{int(number * step):,}")
        for number in range(1, count + 1)
    )


def _ticks(starts: list[date], grain: Grain, step: float) -> tuple[tuple[float, str], ...]:
    """A label under about every eighth of the picture, where a bar begins."""
    every = max(1, ceil(len(starts) / 8))
    return tuple(
        (round(place * step + step / 2, 3), _short(start, grain))
        for place, start in enumerate(starts)
        if place % every == every // 2
    )


def _label(start: date, grain: Grain) -> str:
    names: dict[Grain, Callable[[date], str]] = {
        "day": lambda day: f"{day.isoformat()}, {day.strftime('%A')}",
        "week": lambda day: f"Week of {day.isoformat()}",
        "month": lambda day: day.strftime("%B ") + str(day.year),
        "year": lambda day: str(day.year),
    }
    return names[grain](start)


def _short(start: date, grain: Grain) -> str:
    if grain == "year":
        return str(start.year)
    month = start.strftime("%b")
    return f"{month} {start.year}" if grain == "month" else f"{start.day} {month}"


def _listing(first: date, last: date, narrowing: Mapping[str, object]) -> str:
    """What was changed in this stretch; both ends belong to it."""
    span = {"since": first.isoformat(), "until": f"{last.isoformat()}T23:59:59.999999Z"}
    return f"/browse?{query_string(**{**narrowing, **span})}"


def _outside(dates: Dates, first: date, last: date) -> str:
    """What the picture leaves out, in words."""
    told = []
    for counts, what in ((dates.made, "made"), (dates.expiring, "expiring")):
        before = sum(count for day, count in counts.items() if day < first)
        after = sum(count for day, count in counts.items() if day > last)
        told += [f"{before:,} {what} earlier"] if before else []
        told += [f"{after:,} {what} later"] if after else []
    return ", ".join(told)


# The choices beside it


class Choice(Struct, frozen=True):
    label: str
    href: str
    on: bool
    possible: bool = True


def _spans(asked: Looking) -> list[Choice]:
    return [
        Choice(label, narrowing_path("/timeline", asked, {"span": name}), asked.span == name)
        for name, (label, _) in SPANS.items()
    ]


def _grains(asked: Looking, window: tuple[date, date]) -> list[Choice]:
    """Those that would give too many bars are shown, but cannot be chosen."""
    to = partial(narrowing_path, "/timeline", asked)
    return [
        Choice(
            f"By {grain}",
            to({"span": asked.span, "by": grain}),
            on=chosen_grain(window, asked.by) == grain,
            possible=bars_needed(window, grain) <= MOST_BARS,
        )
        for grain in GRAINS
    ]
