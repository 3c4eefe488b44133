"""Templates, and the few functions that every page uses in them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.requests import Request
from starlette.responses import HTMLResponse

from recollect.auth.capabilities import CAPABILITIES, NOBODY, Caller
from recollect.id_paths import id_path
from recollect.interfaces.web.markdown_html import is_source, marked_code, marked_line, title_line
from recollect.interfaces.web.memory_text import beginning, heading
from recollect.present.sentences import degraded
from recollect.present.words import age, counted, number, place_in_file
from recollect.vaults.known import HOME
from recollect.version import __version__

HERE = Path(__file__).parent
STATIC = HERE / "static"
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


def day(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d")


def dated(then: str, now: datetime) -> dict[str, str]:
    """What a field for a date shows, and what leads to memories as they were then."""
    return {
        "day": then if re.fullmatch(r"\d{4}-\d\d-\d\d", then) else "",
        "today": f"{now:%Y-%m-%d}",
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
        "heading": heading,
        "titled": title_line, "marked": marked_line, "marked_code": marked_code,
        "number": number, "path_of": id_path, "place_in_file": place_in_file,
    }  # fmt: skip
    made.tests["source"] = is_source
    made.globals |= {"static": static, "query_string": query_string, "version": __version__}
    return made


def page(
    name: str, request: Request, values: Mapping[str, Any], *, status: int = 200
) -> HTMLResponse:
    """A template as a response. `here` is the path, by which the menu marks the current page; `may`
    says what the caller may do, and so what the page offers."""
    caller: Caller = request.scope.get("caller", NOBODY)
    common = {
        "here": request.url.path,
        "may": {name: caller.may(name) and caller.sees(HOME) for name in CAPABILITIES},
        "logged_in": request.scope.get("browser_session") is not None,
    }
    text = environment().get_template(name).render({**common, **values})
    return HTMLResponse(text, status, headers={"Cache-Control": "no-store"})


def problem_page(request: Request, status: int, title: str, detail: str) -> HTMLResponse:
    """The page that says what went wrong."""
    values = {"title": title, "detail": detail, "status": status}
    return page("problem.html", request, values, status=status)
