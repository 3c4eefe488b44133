"""When memories were made and when they expire, as a picture, a table and two lists."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from functools import partial

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from recollect.engine import Recollect
from recollect.interfaces.http.parameters import FilterParameters, from_parameters
from recollect.interfaces.http.service import Service
from recollect.interfaces.web.browse import applied, filters, narrowing_path, parameters
from recollect.interfaces.web.memory_text import heading
from recollect.interfaces.web.rendering import page, query_string
from recollect.interfaces.web.time_chart import drawn
from recollect.interfaces.web.time_spans import (
    GRAINS,
    MOST_BARS,
    SPANS,
    Grain,
    Span,
    bars_needed,
    chosen_grain,
    spanned,
)
from recollect.store.base import Dates
from recollect.types import Filter, Memory

SOON = timedelta(days=30)
LISTED = 20


class TimelineParameters(FilterParameters, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which memories, and how they are drawn."""

    by: Grain | None = None
    span: Span = "fit"


def routes(service: Service) -> list[BaseRoute]:
    return [
        Route("/timeline", partial(timeline, service)),
        Route("/timeline/filters", partial(filters, service, "/timeline")),
    ]


async def timeline(service: Service, request: Request) -> Response:
    asked: TimelineParameters = from_parameters(TimelineParameters, request.query_params)
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


# The choices beside it


class Choice(Struct, frozen=True):
    label: str
    href: str
    on: bool
    possible: bool = True


def _spans(asked: TimelineParameters) -> list[Choice]:
    return [
        Choice(label, narrowing_path("/timeline", asked, {"span": name}), asked.span == name)
        for name, (label, _) in SPANS.items()
    ]


def _grains(asked: TimelineParameters, window: tuple[date, date]) -> list[Choice]:
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
