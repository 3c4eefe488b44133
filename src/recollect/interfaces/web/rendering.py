"""Templates, and the few functions that every page uses in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlencode

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from recollect.auth.capabilities import CAPABILITIES, NOBODY, Caller
from recollect.interfaces.web.markdown_html import is_source, marked_code, marked_line, title_line
from recollect.interfaces.web.memory_text import beginning, heading, opening
from recollect.memory_json import id_path
from recollect.present.sentences import degraded
from recollect.present.words import age, counted, number, place_in_file
from recollect.times import day, minute, moved
from recollect.vaults.known import HOME
from recollect.version import __version__

HERE = Path(__file__).parent
STATIC = HERE / "static"
MOST_SAID = 300  # characters: a cookie holds 4 kB, and one may take nine bytes there
# The field that the form of an undo sends: the `operation` to take back, `agreed` how many memories
# may change, or `redo`. Empty: there is nothing to take back.
Undo = Mapping[str, int]
# The ages that facets count, as a chip says them.
AGES = {"1d": "Past day", "7d": "Past week", "30d": "Past month", "365d": "Past year"}


@cache
def static(name: str) -> str:
    """The address of a static file; it changes with the content, so that browsers may keep it."""
    digest = blake2b((STATIC / name).read_bytes(), digest_size=6).hexdigest()
    return f"/static/{name}?v={digest}"


def query_string(**parameters: object) -> str:
    """`q=tokens&tag=auth`; empty values are dropped."""
    pairs: list[tuple[str, object]] = []
    for name, value in parameters.items():
        values = value if isinstance(value, list | tuple) else [value]
        pairs += [(name, item) for item in values if item not in (None, "", False)]
    return urlencode(pairs)


def dated(then: str, now: datetime, begins: datetime | None) -> dict[str, str]:
    """What a field for a date shows and takes, and what leads to memories as they were then. It
    takes no day that was over when history `begins`."""
    return {
        "day": then if re.fullmatch(r"\d{4}-\d\d-\d\d", then) else "",
        "today": day(now),
        "first_day": min(day(moved(begins or now, timedelta(days=1))), day(now)),
        "memory_query": f"?{urlencode({'as_of': then})}" if then else "",
    }


@cache
def environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "age": age, "beginning": beginning, "counted": counted, "day": day, "degraded": degraded,
        "heading": heading, "minute": minute,
        "titled": title_line, "marked": marked_line, "marked_code": marked_code,
        "number": number, "opening": opening, "path_of": id_path, "place_in_file": place_in_file,
    }  # fmt: skip
    made.tests["source"] = is_source
    made.globals |= {"static": static, "query_string": query_string, "version": __version__}
    return made


def page(
    name: str, request: Request, values: Mapping[str, Any], *, status: int = 200
) -> HTMLResponse:
    """A template as a response. `here` is the path, by which the menu marks the current page; `may`
    says what the caller may do, and so what the page offers; `said` is what was just done."""
    caller: Caller = request.scope.get("caller", NOBODY)
    common = {
        "here": request.url.path,
        "may": {name: caller.may(name) and caller.sees(HOME) for name in CAPABILITIES},
        "logged_in": request.scope.get("browser_session") is not None,
        "said": None if name.startswith("_") else _read_said(request),
    }
    text = environment().get_template(name).render({**common, **values})
    response = HTMLResponse(text, status, headers={"Cache-Control": "no-store"})
    if common["said"]:
        response.delete_cookie(_said_cookie(request))
    return response


def say_on_next_page(request: Request, response: Response, said: str, undo: Undo) -> None:
    """Let the next page say this once, with a button that takes it back."""
    value = quote(msgspec.json.encode({"text": said[:MOST_SAID], "undo": undo}))
    response.set_cookie(
        _said_cookie(request), value, max_age=60, httponly=True, samesite="strict",
        secure=request.url.scheme == "https",
    )  # fmt: skip


def _said_cookie(request: Request) -> str:
    """A browser sends a cookie to every port of a host, so its name holds the port."""
    return f"recollect_said_{request.url.port or ''}"


def _read_said(request: Request) -> dict[str, Any] | None:
    """What the request before this one did."""
    try:
        said = msgspec.json.decode(unquote(request.cookies.get(_said_cookie(request), "")))
    except msgspec.DecodeError:
        return None
    return said if isinstance(said, dict) and {"text", "undo"} <= said.keys() else None


def problem_page(request: Request, status: int, title: str, detail: str) -> HTMLResponse:
    """The page that says what went wrong."""
    values = {"title": title, "detail": detail, "status": status}
    return page("problem.html", request, values, status=status)
