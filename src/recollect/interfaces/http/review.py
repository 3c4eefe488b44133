"""The routes of the review: what wants a decision, deciding it, and memories that say the same."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct, field
from starlette.responses import Response

from recollect.auth.capabilities import DELETE, SEARCH
from recollect.engine.review import review_json
from recollect.interfaces.http.operations import PREFIX, Call, Operation, ReplySpec, json_response
from recollect.interfaces.http.schemas import Id, MemoryChange, fields_of
from recollect.interfaces.lanes import SEARCHES, WRITES
from recollect.types import Choice, Memory, ReviewKind

LIMIT, MOST = 20, 1000
Limit = Annotated[int, Meta(ge=1, le=MOST)]


class ReviewParameters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    kind: ReviewKind | None = None
    limit: Limit = LIMIT


class DuplicateParameters(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    limit: Limit = LIMIT


class ReviewItemBody(Struct):
    id: str
    kind: ReviewKind
    why: str
    sure: float
    suggested: Choice
    choices: list[Choice]
    proposed: Annotated[str, Meta(description="What an agent would do; empty: none said anything.")]
    memories: list[Memory]


class ReviewBody(Struct):
    items: list[ReviewItemBody]
    counts: dict[str, int]


class DecisionBody(Struct, forbid_unknown_fields=True):
    """A decision; with `edit`, the memory's new fields. `memory`: which one of several."""

    decision: Choice
    changes: MemoryChange = field(default_factory=MemoryChange)
    memory: Id | None = None


class Decided(Struct):
    item: str
    decision: Choice
    done: str


class DuplicateBody(Struct):
    reason: str
    sure: float
    ids: list[str]
    about: str


async def review(call: Call) -> Response:

    asked: ReviewParameters = call.parameters
    found = await call.service.ask(call.engine.review, limit=asked.limit, kind=asked.kind)
    return json_response(review_json(found))


async def decide(call: Call) -> Response:
    body: DecisionBody = call.body
    changes: dict[str, Any] = fields_of(body.changes)
    if body.memory is not None:
        changes["id"] = body.memory
    done = await call.service.ask(call.engine.decide, call.id, body.decision, changes=changes)
    return json_response(Decided(call.id, body.decision, done))


async def duplicates(call: Call) -> Response:
    found = await call.service.ask(call.engine.duplicates)
    return json_response([group._asdict() for group in found[: call.parameters.limit]])


OPERATIONS = (
    Operation(
        "GET", f"{PREFIX}/review", review, "What wants a decision",
        {200: ReplySpec("The next items, and how many there are of each kind.", ReviewBody)},
        parameters=ReviewParameters, lane=SEARCHES,
        details="An item has the same id as long as it is about the same memories. One that was "
        "decided comes back when they change.",
    ),
    Operation(
        "POST", f"{PREFIX}/review/{{id:path}}", decide, "Decide an item of the review",
        {200: ReplySpec("What was done.", Decided)}, body=DecisionBody,
        example={"decision": "merge"}, problems=(404,), needs=(SEARCH, DELETE), lane=WRITES,
    ),
    Operation(
        "GET", f"{PREFIX}/duplicates", duplicates, "Memories that say the same",
        {200: ReplySpec("Groups, the surest first, the one to keep first.", list[DuplicateBody])},
        parameters=DuplicateParameters, lane=SEARCHES,
    ),
)  # fmt: skip
