"""Common parts of all pages: templates and their filters, forms, and redirects."""

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
from recollect.interfaces.http.schemas import PARAMETERS
from recollect.interfaces.http.service import Service
from recollect.interfaces.web.markdown_html import (
    COMMENT,
    Links,
    code,
    is_source,
    marked_code,
    marked_line,
    names,
    render,
    title_line,
)
from recollect.memory_json import id_of_path, id_path
from recollect.present.sentences import age, counted, degraded, number, place_in_file, title_of
from recollect.times import day, minute, shift
from recollect.types import Memory
from recollect.vaults.known import HOME
from recollect.version import __version__

# Texts of memories

HEADING = 90  # characters of a text that replace a missing title
READ = 20_000  # characters of a memory that are searched for names of others


def heading(memory: Memory) -> str:
    """Return the title, or the first words of the text without comments and Markdown signs."""
    if title_of(memory).strip():
        return title_of(memory)
    [first, *_] = COMMENT.sub("", memory.text).strip("#>*-+ \t\n").splitlines() or [memory.id]
    return cut_title(first.rstrip("# "), HEADING)


class Texts:
    """A memory's fields as HTML. `find`: returns the ids of memories for names in them."""

    def __init__(self, memory: Memory, find: Callable[[Sequence[str]], Links]) -> None:
        self._memory = memory
        whole = "\n".join((memory.text, memory.context, memory.why, memory.impact, memory.details))
        self._links = {
            name: id for name, id in find(names(whole[:READ])).items() if id != memory.id
        }

    def text(self, under: int = 1) -> Markup:
        """Return the text below a heading of level `under`; source code is highlighted."""
        memory = self._memory
        if memory.path and is_source(memory.path):
            return code(memory.text, memory.path)
        return render(memory.text, self._links, under=under)

    def field(self, name: str, under: int = 2) -> Markup:
        return render(getattr(self._memory, name), self._links, under=under)


def beginning(memory: Memory, most: int) -> Markup:
    """Return the first `most` characters of the text as HTML."""
    if memory.path and is_source(memory.path):
        return code(memory.text[:most], memory.path)
    return render(memory.text if len(memory.text) <= most else f"{memory.text[:most]} …", under=5)


def opening(memory: Memory, most: int) -> Markup:
    """Return up to `most` characters of the text in one line, cut between words if possible."""
    text = (memory.text or memory.context or memory.details).strip()
    if len(text) > most:
        kept = text[:most]
        text = (kept.rpartition(" ")[0] or kept).rstrip(" .,;:") + "…"
    return marked_line(text)


# Templates

HERE = Path(__file__).parent
STATIC = HERE / "static"
MOST_SAID = 300  # characters: a cookie holds 4 kB, and one character may take nine bytes
# The fields of an undo form: the `operation` to undo, `agreed` for how many memories may change, or
# `redo`. Empty: nothing can be undone.
Undo = Mapping[str, int]
# The ages that facets count → their labels.
AGES = {"1d": "Past day", "7d": "Past week", "30d": "Past month", "365d": "Past year"}


@cache
def static(name: str) -> str:
    """Return the address of a static file. It changes with the content, for caching."""
    digest = blake2b((STATIC / name).read_bytes(), digest_size=6).hexdigest()
    return f"/static/{name}?v={digest}"


def query_string(**parameters: object) -> str:
    """Return `q=tokens&tag=auth`, without empty values."""
    pairs: list[tuple[str, object]] = []
    for name, value in parameters.items():
        values = value if isinstance(value, list | tuple) else [value]
        pairs += [(name, item) for item in values if item not in (None, "", False)]
    return urlencode(pairs)


def date_field(then: str, now: datetime, begins: datetime | None) -> dict[str, str]:
    """Return the value and limits of the date field, and the query of links to memories at that
    date. `begins`: the time at which history begins."""
    return {
        "day": then if re.fullmatch(r"\d{4}-\d\d-\d\d", then) else "",
        "today": day(now),
        "first_day": min(day(shift(begins or now, timedelta(days=1))), day(now)),
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
        "with_labels": with_labels,
        "titled": title_line, "marked": marked_line, "marked_code": marked_code,
        "number": number, "opening": opening, "path_of": id_path, "place_in_file": place_in_file,
    }  # fmt: skip
    made.tests["source"] = is_source
    made.globals |= {"static": static, "query_string": query_string, "version": __version__}
    return made


def page(
    name: str, request: Request, values: Mapping[str, Any], *, status: int = 200
) -> HTMLResponse:
    """Render a template as a response. Its common values: `here`, the path, which the menu marks;
    `may`, the caller's capabilities; `said`, the message about the last change."""
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
    """Show this message once on the next page, with a button to undo the change."""
    value = quote(msgspec.json.encode({"text": said[:MOST_SAID], "undo": undo}))
    response.set_cookie(
        _said_cookie(request), value, max_age=60, httponly=True, samesite="strict",
        secure=request.url.scheme == "https",
    )  # fmt: skip


def _said_cookie(request: Request) -> str:
    """Return the cookie's name with the port, as browsers send a cookie to every port of a host."""
    return f"recollect_said_{request.url.port or ''}"


def _read_said(request: Request) -> dict[str, Any] | None:
    """Return the message and undo fields from the cookie, or None."""
    try:
        said = msgspec.json.decode(unquote(request.cookies.get(_said_cookie(request), "")))
    except msgspec.DecodeError:
        return None
    return said if isinstance(said, dict) and {"text", "undo"} <= said.keys() else None


# The names of fields in error messages → their labels on the page, where these differ by more than
# a capital.
LABELS = {"deadline_ms": "The time limit", "limit": "The number of results", "q": "The query"}
FIELD_NAMES = {*PARAMETERS.values(), "as_of", "valid_from", "valid_until"}


def with_labels(problem: str) -> str:
    """Return an error message with the page's label of the field that it begins with: `As of` for
    `as_of`."""
    name = re.split("[ :]", problem, maxsplit=1)[0]
    if name not in FIELD_NAMES:
        return problem
    label = LABELS.get(name, name.replace("_", " ").capitalize())
    return label + problem.removeprefix(name)


def problem_page(request: Request, status: int, title: str, detail: str) -> HTMLResponse:
    """Return the page for an error."""
    values = {"title": title, "detail": detail, "status": status}
    return page("problem.html", request, values, status=status)


# Forms, and where the browser goes after them

MOST_FIELDS = 2000  # a memory of a thousand tags, and the rest


def problem_piece(request: Request, error: RecollectError) -> Response:
    """Return an error in place of a piece of a page."""
    return page("_problem.html", request, {"detail": str(error)}, status=status_of(error))


async def read_form(request: Request) -> QueryParams:
    """Return the fields of a form; if one is sent twice, `get` returns the last."""
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
    """Answer a form that changed something and can be undone. `id`: a memory that it changed."""
    operation = await service.ask(last_operation, service.engine, id) if id else None
    return answer_form(request, said, place, {"operation": operation} if operation else {})


def last_operation(engine: Recollect, id: str) -> int | None:
    """Return the number of the memory's last operation; None without history."""
    try:
        return engine.history(id)[0].operation or None
    except NotFound:
        return None


def answer_form(request: Request, said: str, place: str, undo: Undo) -> Response:
    """Return the message as JSON to a script; else redirect to `place`, which shows it once."""
    if for_script(request):
        return JSONResponse({"said": said, "to": place, "undo": undo})
    response = redirect(place)
    say_on_next_page(request, response, said, undo)
    return response


def for_script(request: Request) -> bool:
    """Return True if a script sent the form and shows the message itself."""
    return "application/json" in request.headers.get("accept", "")


def page_before(request: Request) -> str:
    """Return the path of the page with the form; `/` if the browser does not send it."""
    before = urlsplit(request.headers.get("referer", ""))
    return urlunsplit(("", "", before.path or "/", before.query, ""))


def redirect(path: str) -> Response:
    """Redirect to the result of a change, so that a reload does not repeat the change."""
    return RedirectResponse(path, status_code=303)
