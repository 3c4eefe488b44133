"""The timeline: when memories were created, are valid and expire, as a chart, a table and lists."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from starlette.requests import Request
from starlette.responses import Response

from recollect.engine import Recollect
from recollect.interfaces.http.schemas import FilterParameters, from_parameters
from recollect.interfaces.http.service import Service
from recollect.interfaces.web.browse import filters_of, narrowing_path, parameters
from recollect.interfaces.web.chips import chosen_chips
from recollect.interfaces.web.rendering import page, query_string
from recollect.interfaces.web.time_chart import (
    GRAINS,
    MOST_BARS,
    SPANS,
    Grain,
    Span,
    bars_needed,
    chosen_grain,
    draw,
    span_days,
)
from recollect.store.base import Dates
from recollect.times import moved
from recollect.types import Filter

SOON = timedelta(days=30)
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
    here = replace(narrowed, made_since=_start_of(window[0]), made_before=_end_of(window[1]))
    total = sum(engine.dates(here).made.values())
    return {"total": total, "memories": engine.list(here, LISTED, newest=True)}


def validity_bars(
    engine: Recollect, narrowed: Filter, window: tuple[date, date]
) -> list[dict[str, Any]]:
    """Return the memories that expire within the chart, the next first, with their time of
    validity: `x` and `width` are percentages of the chart."""
    start, end = _start_of(window[0]), _end_of(window[1])
    length = (end - start).total_seconds()

    def place(moment: datetime) -> float:
        return round(100 * (min(max(moment, start), end) - start).total_seconds() / length, 2)

    bars = []
    for memory in engine.ending(narrowed, BARS, since=start, until=end):
        assert memory.valid_until is not None
        x = place(memory.valid_from or memory.created_at)
        width = max(0.3, round(place(memory.valid_until) - x, 2))
        bars.append({"memory": memory, "x": x, "width": width})
    return bars


def _start_of(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _end_of(day: date) -> datetime:
    return moved(_start_of(day), timedelta(days=1))


# Expiring memories


def list_expiring(
    engine: Recollect, narrowed: Filter, dates: Dates, now: datetime
) -> dict[str, Any]:
    """Return the memories that expire soon, soonest first, and those that have expired, latest
    first, with their numbers. Numbers above LISTED count whole days."""
    if not dates.expiring:
        return {"coming": 0, "past": 0, "soon": (), "gone": ()}
    today = now.astimezone(UTC).date()
    soon = engine.expiring(narrowed, LISTED + 1, within=SOON)
    gone = engine.expired(narrowed, LISTED + 1)
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
