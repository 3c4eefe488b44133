"""What a form sends, and where the browser goes after it."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit, urlunsplit

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from recollect.engine import Recollect
from recollect.errors import NotFound, RecollectError, UserError
from recollect.interfaces.http.problems import status_of
from recollect.interfaces.http.service import Service
from recollect.interfaces.web.rendering import Undo, page, say_on_next_page
from recollect.memory_json import id_of_path

MOST_FIELDS = 2000  # a memory of a thousand tags, and the rest


def problem_piece(request: Request, error: RecollectError) -> Response:
    """The error, in place of a piece of a page."""
    return page("_problem.html", request, {"detail": str(error)}, status=status_of(error))


async def submitted(request: Request) -> dict[str, list[str]]:
    """The fields of a form. A browser sends one in this encoding and no other."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if body and kind != "application/x-www-form-urlencoded":
        raise UserError("A form must be sent as application/x-www-form-urlencoded.")
    try:
        return parse_qs(
            body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS
        )
    except ValueError as error:  # not UTF-8, or too many fields
        raise UserError("The form cannot be read.") from error


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
