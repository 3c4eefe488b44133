"""The routes that search: search, related, context, feedback."""

from __future__ import annotations

from starlette.responses import Response

from recollect.auth.capabilities import SEARCH, WRITE
from recollect.interfaces.http import schemas
from recollect.interfaces.http.operations import PREFIX, Call, Operation, ReplySpec, json_response
from recollect.interfaces.http.parameters import SearchParameters
from recollect.interfaces.lanes import SEARCHES, WRITES
from recollect.present.agent_context import context_json
from recollect.present.response import as_json
from recollect.present.schema import ContextJson, ResponseJson
from recollect.recipes.show import weights_json


async def search(call: Call) -> Response:
    asked: SearchParameters = call.parameters if call.body is None else call.body
    response = await call.service.ask(asked.answered, call.engine)
    call.metrics.search(response)
    return json_response(as_json(response, asked.explain, whole=asked.whole))


async def context(call: Call) -> Response:
    asked: schemas.ContextParameters = call.parameters
    found = await call.service.ask(
        call.engine.context,
        asked.query,
        limit=asked.limit,
        max_tokens=asked.max_tokens,
        filter=asked.filter(call.engine),
        semantic=asked.semantic,
        topup_recent=asked.topup_recent,
        as_of=asked.then(call.engine),
    )
    return json_response(context_json(found))


async def feedback(call: Call) -> Response:
    body: schemas.FeedbackBody = call.body
    call.engine.recipe(body.recipe)  # an unknown one is refused before anything is recorded
    accepted, dismissed = await call.service.ask(
        call.engine.feedback, body.query, body.id, accept=body.accepted, undo=body.undo
    )
    learned = await call.service.ask(call.engine.learned, body.recipe)
    return json_response(
        {
            "accepted": accepted,
            "dismissed": dismissed,
            "weights": weights_json(learned),
        }
    )


async def related(call: Call) -> Response:
    found = await call.service.ask(call.engine.related, call.id, call.parameters.limit)
    return json_response(as_json(found))


FOUND = {200: ReplySpec("The results, best first.", ResponseJson)}
OPERATIONS = (
    Operation(
        "GET", f"{PREFIX}/related/{{id:path}}", related, "Memories about the same thing",
        FOUND, parameters=schemas.RelatedParameters, problems=(404,), lane=SEARCHES,
    ),
    Operation(
        "POST", f"{PREFIX}/search", search, "Search", FOUND, body=SearchParameters,
        example={"query": "how do we refresh tokens", "limit": 5, "explain": True}, problems=(404,),
        anywhere=True, lane=SEARCHES,
        details="`explain` adds to each result how its score came about; `facets` counts the "
        "values of everything that was found; `set` changes constants of the recipe for this "
        "search; `whole` adds the memory to each result, whatever the view; `vaults` searches only "
        "these, and `federate: false` only this server's own vault.",
    ),
    Operation(
        "GET", f"{PREFIX}/search", search, "Search, with the query in the address", FOUND,
        parameters=SearchParameters, problems=(404,), anywhere=True, lane=SEARCHES,
    ),
    Operation(
        "GET", f"{PREFIX}/context", context, "What an agent should know when it starts",
        {200: ReplySpec("Memories, best first.", ContextJson)},
        parameters=schemas.ContextParameters, lane=SEARCHES,
    ),
    Operation(
        "POST", f"{PREFIX}/feedback", feedback, "Say whether a result was right",
        {200: ReplySpec("Recorded.", schemas.FeedbackCounts)}, body=schemas.FeedbackBody,
        example={"query": "refresh tokens", "id": "auth-jwt-001", "accepted": True},
        problems=(404,), needs=(WRITE, SEARCH), lane=WRITES,
        details="The same again changes nothing, the opposite replaces what was said, and "
        "`undo: true` takes it back.",
    ),
)  # fmt: skip
