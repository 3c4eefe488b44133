"""The activity page: a live list of writes and reads, and the stream of events behind live
pages."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from datetime import datetime
from functools import partial
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from recollect.engine import Recollect
from recollect.engine.history import ActivityEntry, ActivityPlace
from recollect.errors import RecollectError
from recollect.interfaces.http.guard import still_valid
from recollect.interfaces.http.schemas import from_parameters
from recollect.interfaces.http.service import Service
from recollect.interfaces.web.rendering import environment, page, query_string

SHOWN = 50
MOST_AT_ONCE = 100  # events; a page that missed more is reloaded
RETRY_MS = 2000  # until a browser reconnects
READS = {"search": "searched", "open": "opened", "recall": "recalled"}
VERBS = READS | {
    "save": "saved", "edit": "changed", "pin": "pinned", "unpin": "unpinned", "tag": "tagged",
    "move": "moved", "import": "imported", "forget": "forgot", "restore": "restored",
    "supersede": "replaced", "merge": "merged", "undo": "undid a change of",
    "redo": "redid a change of", "purge": "purged", "tidy": "tidied",
    "publish": "published", "unpublish": "unpublished",
}  # fmt: skip
LOGGED_OUT = "You are no longer logged in here."
LOCKED = "The vault is locked."
Name = Annotated[str, Meta(max_length=200)]


class Watching(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Filters of the activity: by project and client; on the page, older than `before`. `rows`:
    send each event with its row of the page. `once`: end after the first events, for a client that
    polls."""

    project: Name = ""
    by: Name = ""
    before: Annotated[str, Meta(pattern=r"^[0-9]{1,18}\.[0-9]{1,18}$")] | None = None
    rows: bool = False
    once: bool = False


async def live(service: Service, request: Request) -> Response:
    asked: Watching = from_parameters(Watching, request.query_params)
    before = ActivityPlace(*map(int, asked.before.split("."))) if asked.before else None
    engine, chosen = service.engine, {"project": asked.project, "by": asked.by}
    found = await service.ask(
        engine.activity, limit=SHOWN, before=before, project=asked.project, by=asked.by
    )
    older = ".".join(map(str, found.older)) if found.older else ""
    values = {
        "entries": found.entries,
        "older": f"/live?{query_string(**chosen, before=older)}" if older else "",
        "first": f"/live?{query_string(**chosen)}" if asked.before else "",
        "asked": asked,
        "clients": await service.ask(engine.active_clients),
        "projects": [*(await service.ask(engine.facets)).project],
        "stream": f"/live/events?{query_string(**chosen, rows='1')}",
        "now": engine.now(),
    }
    return page("live.html", request, values)


async def events(service: Service, request: Request) -> Response:
    """Send the stream of events. It begins with `ready`, on which a page reloads what it may have
    missed, or with `locked`, followed by `ready` after unlocking. `over` gives the reason for a
    permanent end."""
    asked: Watching = from_parameters(Watching, request.query_params)
    service.feed.check()
    stream = _stream(service, asked, partial(run_in_threadpool, still_valid, request.scope))
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


async def _stream(
    service: Service, asked: Watching, valid: Callable[[], Awaitable[bool]]
) -> AsyncIterator[str]:
    engine = service.engine
    place: ActivityPlace | None = None
    yield f"retry: {RETRY_MS}\n\n"
    async with aclosing(service.feed.changes()) as changes:
        async for changed in changes:
            if not await valid():
                yield _event("over", {"why": LOGGED_OUT})
                return
            if service.feed.pulse[0] < 0:
                yield _event("locked", {"why": LOCKED})
                if place is not None:  # the browser reconnects and waits until it is unlocked
                    return
            elif not changed:
                yield ": \n\n"
            else:
                news, place = await _news(service, engine, asked, place)
                for event in news:
                    yield event
            if asked.once:
                return


async def _news(
    service: Service, engine: Recollect, asked: Watching, place: ActivityPlace | None
) -> tuple[list[str], ActivityPlace | None]:
    """Return the events since a place, and the next place; the first event is `ready`."""
    try:
        found = await service.ask(
            engine.activity, limit=MOST_AT_ONCE, after=place, project=asked.project, by=asked.by
        )
    except RecollectError:  # the vault is being replaced; try again later
        return [], place
    if place is None:
        return [_event("ready", {})], found.newest
    now = engine.now()
    activities = [_entry_json(entry, now, rows=asked.rows) for entry in reversed(found.entries)]
    return [_event("activity", activity) for activity in activities], found.newest


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {msgspec.json.encode(data).decode()}\n\n"


def _entry_json(entry: ActivityEntry, now: datetime, *, rows: bool) -> dict[str, Any]:
    """Return an entry for scripts. `write`: it changed memories, so that lists are outdated."""
    described = {
        "action": entry.action,
        "by": entry.author.client or entry.author.interface,
        "write": entry.action not in READS,
        "count": entry.size,
        "ids": [memory.id for memory in entry.memories],
    }
    if rows:
        template = environment().get_template("_activity.html")
        described["html"] = template.render(entries=[entry], now=now)
    return described
