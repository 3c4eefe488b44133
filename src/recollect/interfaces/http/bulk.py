"""The routes that change many memories at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.responses import Response

from recollect.auth.capabilities import DELETE, SEARCH, WRITE
from recollect.interfaces.http import schemas
from recollect.interfaces.http.memories import refuse_change
from recollect.interfaces.http.operations import PREFIX, Call, Operation, ReplySpec, json_response
from recollect.interfaces.lanes import WRITES


async def change(call: Call) -> Response:
    body: schemas.SelectedChange = call.body
    fields = schemas.fields_of(body.change)
    return await _done(
        call, lambda ids: call.engine.edit_all(ids, keep_age=body.keep_age, **fields)
    )


async def forget(call: Call) -> Response:
    return await _done(call, call.engine.forget)


async def restore(call: Call) -> Response:
    return await _done(call, call.engine.restore, forgotten=True)


async def _done(
    call: Call, work: Callable[[list[str]], object], *, forgotten: bool = False
) -> Response:
    def run() -> list[str]:
        ids: list[str] = call.body.chosen(call.engine, forgotten=forgotten)
        if not call.body.dry_run:
            work(ids)
        return ids

    return json_response({"ids": await call.service.ask(run), "dry_run": call.body.dry_run})


def _refuse_fields(body: object) -> None:
    if isinstance(body, dict):
        refuse_change(body.get("change"))


def _operation(
    name: str,
    run: Callable[[Call], Awaitable[Response]],
    about: str,
    needs: tuple[str, ...],
    body: type[schemas.Selected],
    example: dict[str, object],
) -> Operation:
    return Operation(
        "POST", f"{PREFIX}/bulk/{name}", run, about,
        {200: ReplySpec("All of these, in one transaction.", schemas.SelectedIds)},
        body=body, example=example, problems=(404,), needs=needs, lane=WRITES,
        refuse=_refuse_fields,
        details="Name the memories by `ids`, or by filters and `query`, of which a memory must "
        "hold every word. `dry_run` names them and changes nothing.",
    )  # fmt: skip


OPERATIONS = (
    _operation(
        "change", change, "Change many memories", (WRITE, SEARCH), schemas.SelectedChange,
        {"project": "harbor-api", "change": {"add_tags": ["api"]}, "keep_age": True},
    ),
    _operation(
        "forget", forget, "Forget many memories", (DELETE, SEARCH), schemas.Selected,
        {"project": "old-site", "dry_run": True},
    ),
    _operation(
        "restore", restore, "Bring many forgotten memories back", (DELETE, SEARCH),
        schemas.Selected, {"project": "old-site", "dry_run": True},
    ),
)  # fmt: skip
