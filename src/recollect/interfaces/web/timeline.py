"""When memories were made, hold and expire: a picture to zoom into, a table, lists."""

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
    drawn,
    spanned,
)
from recollect.store.base import Dates
from recollect.times import moved
from recollect.types import Filter

SOON = timedelta(days=30)
LISTED = 20
BARS = 12  # of validity


class TimelineParameters(FilterParameters):
    """Which memories, and how they are drawn."""

    by: Grain | None = None
    span: Span = "fit"
    first: date | None = None
    last: date | None = None


async def timeline(service: Service, request: Request) -> Response:
    asked: TimelineParameters = from_parameters(TimelineParameters, request.query_params)
    engine, now = service.engine, service.engine.now()
    narrowed = await service.ask(asked.filter, engine)
    dates = await service.ask(engine.dates, narrowed)
    ends = await service.ask(expiry, engine, narrowed, dates, now)
    today = now.astimezone(UTC).date()
    chosen = (asked.first, asked.last) if asked.first and asked.last else None
    window = (min(chosen), max(chosen)) if chosen else spanned(dates, asked.span, today)
    files = await service.ask(engine.dates, replace(narrowed, tier="file"))
    values = {
        "picture": drawn(dates, files.made, window, asked.by, today, parameters(asked))
        if window
        else None,
        "window": window,
        "made": await service.ask(made_within, engine, narrowed, window)
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


# What was made, and how long it holds


def made_within(engine: Recollect, narrowed: Filter, window: tuple[date, date]) -> dict[str, Any]:
    """Memories made in a stretch of time, newest first, and how many there are."""
    here = replace(narrowed, made_since=_midnight(window[0]), made_before=_next_day(window[1]))
    total = sum(engine.dates(here).made.values())
    return {"total": total, "memories": engine.list(here, LISTED, newest=True)}


def validity_bars(
    engine: Recollect, narrowed: Filter, window: tuple[date, date]
) -> list[dict[str, Any]]:
    """Those of limited validity that ends in the picture, the next to end first; and how long each
    holds, within the picture: `x` and `width` are percentages."""
    start, end = _midnight(window[0]), _next_day(window[1])
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


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


def _next_day(day: date) -> datetime:
    return moved(_midnight(day), timedelta(days=1))


# What expires


def expiry(engine: Recollect, narrowed: Filter, dates: Dates, now: datetime) -> dict[str, Any]:
    """What expires soon, soonest first, and what has expired, latest first: the first of them, and
    how many there are. Where there are more than are listed, whole days are counted."""
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


# The choices beside it


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
    """Those that would give too many bars are shown, but cannot be chosen."""
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
