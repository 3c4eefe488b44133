"""What every page uses: templates and what stands in them, forms, and where the browser goes
after."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

import msgspec
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from recollect.auth.capabilities import CAPABILITIES, NOBODY, Caller
from recollect.engine import Recollect
from recollect.errors import NotFound, RecollectError, UserError
from recollect.ingest.draft import cut_title
from recollect.interfaces.http.problems import status_of
from recollect.interfaces.http.service import Service
from recollect.interfaces.web.markdown_html import (
    COMMENT,
    Links,
    code,
    is_source,
    marked_code,
    marked_line,
    names,
    rendered,
    title_line,
)
from recollect.memory_json import id_of_path, id_path
from recollect.present.sentences import degraded
from recollect.present.words import age, counted, number, place_in_file, title_of
from recollect.times import day, minute, moved
from recollect.types import Memory
from recollect.vaults.known import HOME
from recollect.version import __version__

# Texts of memories

HEADING = 90  # characters of a text that stand for a missing title
READ = 20_000  # characters of a memory in which names of others are looked for


def heading(memory: Memory) -> str:
    """The title, or how the text begins, without comments and signs of Markdown before it."""
    if title_of(memory).strip():
        return title_of(memory)
    [first, *_] = COMMENT.sub("", memory.text).strip("#>*-+ \t\n").splitlines() or [memory.id]
    return cut_title(first.rstrip("# "), HEADING)


class Texts:
    """A memory's fields as HTML. `find` tells which names in them lead to other memories."""

    def __init__(self, memory: Memory, find: Callable[[Sequence[str]], Links]) -> None:
        self._memory = memory
        whole = "\n".join((memory.text, memory.context, memory.why, memory.impact, memory.details))
        self._links = {
            name: id for name, id in find(names(whole[:READ])).items() if id != memory.id
        }

    def text(self, under: int = 1) -> Markup:
        """The text, below a heading of the level `under`; of a file of source code, as code."""
        memory = self._memory
        if memory.path and is_source(memory.path):
            return code(memory.text, memory.path)
        return rendered(memory.text, self._links, under=under)

    def field(self, name: str, under: int = 2) -> Markup:
        return rendered(getattr(self._memory, name), self._links, under=under)


def beginning(memory: Memory, most: int) -> Markup:
    """The text as HTML, up to `most` characters; a whole line more or less."""
    if memory.path and is_source(memory.path):
        return code(memory.text[:most], memory.path)
    return rendered(memory.text if len(memory.text) <= most else f"{memory.text[:most]} …", under=5)


def opening(memory: Memory, most: int) -> Markup:
    """The start of the text, up to `most` characters, cut between words where possible."""
    text = (memory.text or memory.context or memory.details).strip()
    if len(text) > most:
        kept = text[:most]
        text = (kept.rpartition(" ")[0] or kept).rstrip(" .,;:") + "…"
    return marked_line(text)


# Templates

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


# Forms, and where the browser goes after them

MOST_FIELDS = 2000  # a memory of a thousand tags, and the rest


def problem_piece(request: Request, error: RecollectError) -> Response:
    """The error, in place of a piece of a page."""
    return page("_problem.html", request, {"detail": str(error)}, status=status_of(error))


async def submitted(request: Request) -> QueryParams:
    """The fields of a form; of one that is there twice the last counts. A browser sends it in this
    encoding and no other."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if body and kind != "application/x-www-form-urlencoded":
        raise UserError("A form must be sent as application/x-www-form-urlencoded.")
    try:
        pairs = parse_qsl(
            body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS
        )
    except ValueError as error:  # not UTF-8, or too many fields
        raise UserError("The form cannot be read.") from error
    return QueryParams(pairs)


def memory_id(request: Request) -> str:
    return id_of_path(request.path_params["id"])


async def answer_change(
    service: Service, request: Request, said: str, place: str, id: str = ""
) -> Response:
    """Answer a form that changed something, with a way to undo it. `id`: a memory it changed."""
    operation = await service.ask(last_operation, service.engine, id) if id else None
    return answer_form(request, said, place, {"operation": operation} if operation else {})


def last_operation(engine: Recollect, id: str) -> int | None:
    """Return the number of the operation that changed the memory last; None without history."""
    try:
        return engine.history(id)[0].operation or None
    except NotFound:
        return None


def answer_form(request: Request, said: str, place: str, undo: Undo) -> Response:
    """Say what was done: as JSON to a script; a browser goes to `place`, which says it once."""
    if for_script(request):
        return JSONResponse({"said": said, "to": place, "undo": undo})
    response = redirect(place)
    say_on_next_page(request, response, said, undo)
    return response


def for_script(request: Request) -> bool:
    """Return True if a script sent the form and shows the answer itself."""
    return "application/json" in request.headers.get("accept", "")


def page_before(request: Request) -> str:
    """Return the path of the page that the form is on; `/` where the browser does not say."""
    before = urlsplit(request.headers.get("referer", ""))
    return urlunsplit(("", "", before.path or "/", before.query, ""))


def redirect(path: str) -> Response:
    """Go to the result of a change, so that a reload does not repeat it."""
    return RedirectResponse(path, status_code=303)
