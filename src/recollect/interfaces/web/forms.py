"""What a form sends, and where the browser goes after it."""

from __future__ import annotations

from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from recollect.errors import RecollectError, UserError
from recollect.id_paths import id_of_path, id_path
from recollect.interfaces.http.problems import status_of
from recollect.interfaces.web.rendering import page

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


def to_memory(id: str, done: str) -> Response:
    return redirect(f"/memory/{id_path(id)}?done={done}")


def redirect(path: str) -> Response:
    """Go to the result of a change, so that a reload does not repeat it."""
    return RedirectResponse(path, status_code=303)
