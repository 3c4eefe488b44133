"""The timeline: when memories were created, are valid and expire, as a chart, a table and lists.

The chart has bars above the axis for created memories and below it for expiring ones.

Heights are square roots of counts, and memories from files have their own bars, so that an import
of thousands does not flatten the days on which a person wrote three memories."""

from __future__ import annotations

from calendar import monthrange
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from math import ceil, floor, log10, sqrt
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from recollect.engine import Recollect
from recollect.interfaces.http.schemas import FilterParameters, from_parameters
from recollect.interfaces.http.service import Service
from recollect.interfaces.web.browse import SOON, filters_of, narrowing_path, parameters
from recollect.interfaces.web.chips import chosen_chips
from recollect.interfaces.web.rendering import page, query_string
from recollect.store.base import Dates
from recollect.times import shift
from recollect.types import Filter

Grain = Literal["day", "week", "month", "year"]
Span = Literal["fit", "all", "year", "quarter", "month"]

MOST_BARS = 130  # more would be too thin for a screen and a finger
USUAL_BARS = 64  # the most for a grain that is chosen automatically
# How far "fit" looks ahead: one memory that expires in 2099 must not flatten the chart.
AHEAD = timedelta(days=400)
LEAST = timedelta(days=13)  # the least that "fit" shows, so that a new vault is drawn as days
FARTHEST = timedelta(days=64 * 365)  # the most that "all" shows; others are counted in words
SPANS: dict[Span, tuple[str, timedelta | None]] = {
    "fit": ("Fit", None),
    "all": ("Everything", None),
    "year": ("A year around today", timedelta(days=183)),
    "quarter": ("Three months", timedelta(days=46)),
    "month": ("A month", timedelta(days=15)),
}
GRAINS: dict[Grain, int] = {"day": 1, "week": 7, "month": 30, "year": 365}


def span_days(dates: Dates, span: Span, today: date) -> tuple[date, date] | None:
    """Return the first and last day of the chart; None if there is nothing to draw."""
    days = [*dates.made, *dates.expiring]
    if not days:
        return None
    around = SPANS[span][1]
    if around is not None:
        return _move(today, -around), _move(today, around)
    first, last = min(*days, today), max(*days, today)
    if span == "fit" and dates.made:
        first = min(_first_day(dates.made, today), _move(today, -LEAST))
        last = min(last, max(*dates.made, _move(today, AHEAD)))
    return max(first, _move(today, -FARTHEST)), min(last, _move(today, FARTHEST))


def _first_day(made: Mapping[date, int], today: date) -> date:
    """Return the first day with memories, without a few that are far older than all others: a wrong
    date must not flatten the chart."""
    few = max(1, sum(made.values()) // 50)
    days, passed = sorted(made), 0
    for day in days:
        passed += made[day]
        if passed > few:
            return day if (today - day) * 3 < today - days[0] else days[0]
    return days[0]


def start_of(day: date, grain: Grain) -> date:
    """Return the first day of the period with this day; weeks begin on Monday."""
    match grain:
        case "day":
            return day
        case "week":
            return _move(day, -timedelta(days=day.weekday()))
        case "month":
            return day.replace(day=1)
    return day.replace(month=1, day=1)


def end_of(start: date, grain: Grain) -> date:
    """Return the last day of the period that begins here."""
    match grain:
        case "day":
            return start
        case "week":
            return _move(start, timedelta(days=6))
        case "month":
            return start.replace(day=monthrange(start.year, start.month)[1])
    return start.replace(month=12, day=31)


def bars_needed(window: tuple[date, date], grain: Grain) -> int:
    """Estimate the number of bars of a grain."""
    return (window[1] - window[0]).days // GRAINS[grain] + 1


def chosen_grain(window: tuple[date, date], by: Grain | None) -> Grain:
    """Return the chosen grain if it fits; else the finest with at most USUAL_BARS bars."""
    if by and bars_needed(window, by) <= MOST_BARS:
        return by
    return next((grain for grain in GRAINS if bars_needed(window, grain) <= USUAL_BARS), "year")


def _move(day: date, by: timedelta) -> date:
    """Return the day moved by a number of days, within the calendar."""
    try:
        return day + by
    except OverflowError:
        return date.max if by > timedelta(0) else date.min


# The chart

HEIGHT = 240  # pixels of both sides together, without the labels
LEAST_SIDE = 28


def draw(
    dates: Dates,
    files: Mapping[date, int],
    window: tuple[date, date],
    by: Grain | None,
    today: date,
    narrowing: Mapping[str, object],
) -> dict[str, Any]:
    """Return the bars above and below the axis, on one scale. `files`: the number of memories from
    files for each day.

    In each bar, `made` includes `files`, which also have their own bar; `x` and `width` are
    percentages, heights are pixels."""
    grain = chosen_grain(window, by)
    starts = _starts(window, grain)
    made, expiring, of_files = (
        _sum_by(grain, counts, starts[0], end_of(starts[-1], grain)) for counts in (*dates, files)
    )
    apart = {start: count - of_files.get(start, 0) for start, count in made.items()}
    most = (
        sqrt(max([*apart.values(), *of_files.values()], default=0)),
        sqrt(max(expiring.values(), default=0)),
    )
    axis, below = _sides(*most)
    scale = min(axis / most[0] if most[0] else HEIGHT, below / most[1] if most[1] else HEIGHT)
    step = 100 / len(starts)
    bars = tuple(
        {
            "label": _label(start, grain),
            "first": start,
            "last": end_of(start, grain),
            "made": made.get(start, 0),
            "files": of_files.get(start, 0),
            "expiring": expiring.get(start, 0),
            "x": round(place * step, 3),
            "width": round(step, 3),
            "up": _tall(sqrt(apart.get(start, 0)) * scale),
            "up_files": _tall(sqrt(of_files.get(start, 0)) * scale),
            "down": _tall(sqrt(expiring.get(start, 0)) * scale),
            "href": _zoom_link(start, end_of(start, grain), narrowing),
        }
        for place, start in enumerate(starts)
    )
    length = (end_of(starts[-1], grain) - starts[0]).days + 1
    inside = starts[0] <= today <= end_of(starts[-1], grain)
    return {
        "bars": bars,
        "grain": grain,
        "axis": axis,
        "height": axis + below,
        "today": round(((today - starts[0]).days + 0.5) / length * 100, 3) if inside else None,
        "ticks": _ticks(starts, grain, step),
        "steps": _steps(most[0], axis, scale),
        "outside": _outside(dates, starts[0], end_of(starts[-1], grain)),
    }


def _starts(window: tuple[date, date], grain: Grain) -> list[date]:
    """Return the first day of each bar, for the latest MOST_BARS bars."""
    starts, at, last = [], start_of(window[0], grain), window[1]
    while at <= last:
        starts.append(at)
        end = end_of(at, grain)
        if end == date.max:
            break
        at = end + timedelta(days=1)
    return starts[-MOST_BARS:]


def _sum_by(grain: Grain, counts: Mapping[date, int], first: date, last: date) -> Counter[date]:
    sums: Counter[date] = Counter()
    for day, count in counts.items():
        if first <= day <= last:
            sums[start_of(day, grain)] += count
    return sums


def _sides(made: float, expiring: float) -> tuple[float, float]:
    """Divide the height between above and below the axis, in proportion to the largest counts."""
    if not expiring:
        return HEIGHT, 0
    above = HEIGHT * made / (made + expiring)
    above = min(max(above, LEAST_SIDE), HEIGHT - LEAST_SIDE)
    return round(above, 1), round(HEIGHT - above, 1)


def _tall(height: float) -> float:
    """Return the height of a bar: at least 2 pixels, so that a single memory is visible."""
    return round(max(height, 2.0), 1) if height else 0


def _steps(most: float, axis: float, scale: float) -> tuple[tuple[float, str], ...]:
    """Return a few horizontal lines above the axis, at round numbers; `most`: the largest root."""
    heights = [most * share for share in (0.3, 0.6, 1.0)]
    numbers = dict.fromkeys(_round_down(height**2) for height in heights if height >= 1)
    return tuple((round(axis - sqrt(number) * scale, 1), f"{number:,}") for number in numbers)


def _round_down(number: float) -> int:
    """Return the largest of 1, 2, 5, 10, 20, 50 … that is at most the number."""
    power = 10 ** floor(log10(number))
    return int(next(n * power for n in (5, 2, 1) if n * power <= number))


def _ticks(starts: list[date], grain: Grain, step: float) -> tuple[tuple[float, str], ...]:
    """Return a label for about every eighth of the chart, at the middle of a bar."""
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


def _zoom_link(first: date, last: date, narrowing: Mapping[str, object]) -> str:
    """Return the address of the timeline of these days, both ends included."""
    span = {"first": first.isoformat(), "last": last.isoformat()}
    return f"/timeline?{query_string(**{**narrowing, **span})}"


def _outside(dates: Dates, first: date, last: date) -> str:
    """Say how many memories are outside the chart."""
    parts = []
    for counts, what in ((dates.made, "created"), (dates.expiring, "expiring")):
        before = sum(count for day, count in counts.items() if day < first)
        after = sum(count for day, count in counts.items() if day > last)
        parts += [f"{before:,} {what} earlier"] if before else []
        parts += [f"{after:,} {what} later"] if after else []
    return ", ".join(parts)


# The page

LISTED = 20
BARS = 12  # of validity


class TimelineParameters(FilterParameters):
    """Filters, and the grain and span of the chart."""

    by: Grain | None = None
    span: Span = "fit"
    first: date | None = None
    last: date | None = None


async def timeline(service: Service, request: Request) -> Response:
    asked: TimelineParameters = from_parameters(TimelineParameters, request.query_params)
    engine, now = service.engine, service.engine.now()
    narrowed = await service.ask(asked.filter, engine)
    dates = await service.ask(engine.dates, narrowed)
    ends = await service.ask(list_expiring, engine, narrowed, dates, now)
    today = now.astimezone(UTC).date()
    chosen = (asked.first, asked.last) if asked.first and asked.last else None
    window = (min(chosen), max(chosen)) if chosen else span_days(dates, asked.span, today)
    files = await service.ask(engine.dates, replace(narrowed, tier="file"))
    values = {
        "picture": draw(dates, files.made, window, asked.by, today, parameters(asked))
        if window
        else None,
        "window": window,
        "made": await service.ask(list_made, engine, narrowed, window)
        if window and chosen
        else None,
        "valid": await service.ask(validity_bars, engine, narrowed, window) if window else [],
        "files": sum(files.made.values()),
        "total": sum(dates.made.values()),
        "expiring": sum(dates.expiring.values()),
        "narrows": narrowed.narrows(),
        "spans": _spans(asked),
        "grains": _grains(asked, window) if window else [],
        "narrowing": parameters(asked),
        "chips": chosen_chips(filters_of("/timeline", asked)),
        "filters": f"/timeline/filters?{query_string(**parameters(asked))}",
        "asked": asked,
        "now": now,
        "ends": ends,
    }
    return page("timeline.html", request, values)


# Created memories, and their validity


def list_made(engine: Recollect, narrowed: Filter, window: tuple[date, date]) -> dict[str, Any]:
    """Return the memories created in these days, newest first, and their number."""
    here = replace(narrowed, made_since=_day_start(window[0]), made_before=_day_end(window[1]))
    total = sum(engine.dates(here).made.values())
    return {"total": total, "memories": engine.list(here, LISTED, newest=True)}


def validity_bars(
    engine: Recollect, narrowed: Filter, window: tuple[date, date]
) -> list[dict[str, Any]]:
    """Return the memories that expire within the chart, the next first, with their time of
    validity: `x` and `width` are percentages of the chart."""
    start, end = _day_start(window[0]), _day_end(window[1])
    length = (end - start).total_seconds()

    def place(moment: datetime) -> float:
        return round(100 * (min(max(moment, start), end) - start).total_seconds() / length, 2)

    bars = []
    for memory in engine.list_ending(narrowed, BARS, since=start, until=end):
        assert memory.valid_until is not None
        x = place(memory.valid_from or memory.created_at)
        width = max(0.3, round(place(memory.valid_until) - x, 2))
        bars.append({"memory": memory, "x": x, "width": width})
    return bars


def _day_start(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _day_end(day: date) -> datetime:
    return shift(_day_start(day), timedelta(days=1))


# Expiring memories


def list_expiring(
    engine: Recollect, narrowed: Filter, dates: Dates, now: datetime
) -> dict[str, Any]:
    """Return the memories that expire soon, soonest first, and those that have expired, latest
    first, with their numbers. Numbers above LISTED count whole days."""
    if not dates.expiring:
        return {"coming": 0, "past": 0, "soon": (), "gone": ()}
    today = now.astimezone(UTC).date()
    soon = engine.list_ending(narrowed, LISTED + 1, since=now, until=shift(now, SOON))
    gone = engine.list_ending(narrowed, LISTED + 1, since=None, until=now)
    coming = sum(n for day, n in dates.expiring.items() if today <= day <= today + SOON)
    past = sum(n for day, n in dates.expiring.items() if day < today)
    return {
        "coming": coming if len(soon) > LISTED else len(soon),
        "past": past if len(gone) > LISTED else len(gone),
        "soon": soon[:LISTED],
        "gone": gone[:LISTED],
    }


# Choices of span and grain


class Choice(Struct, frozen=True):
    label: str
    href: str
    on: bool
    possible: bool = True


def _spans(asked: TimelineParameters) -> list[Choice]:
    return [
        Choice(
            label,
            narrowing_path("/timeline", asked, {"span": name}),
            asked.span == name and asked.first is None,
        )
        for name, (label, _) in SPANS.items()
    ]


def _grains(asked: TimelineParameters, window: tuple[date, date]) -> list[Choice]:
    """Return all grains; those with too many bars cannot be chosen."""
    to = partial(narrowing_path, "/timeline", asked)
    return [
        Choice(
            f"By {grain}",
            to({"span": asked.span, "by": grain, "first": asked.first, "last": asked.last}),
            on=chosen_grain(window, asked.by) == grain,
            possible=bars_needed(window, grain) <= MOST_BARS,
        )
        for grain in GRAINS
    ]
