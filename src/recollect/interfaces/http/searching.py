"""The routes that search and take feedback, and the one that saves a recipe."""

from __future__ import annotations

from starlette.responses import Response

from recollect.auth.capabilities import ADMIN, SEARCH, WRITE
from recollect.interfaces.http import schemas
from recollect.interfaces.http.operations import PREFIX, Call, Endpoint, ReplySpec, json_response
from recollect.interfaces.http.parameters import SearchParameters
from recollect.interfaces.thread_pools import SEARCHES, WRITES
from recollect.present.response import as_json
from recollect.present.schema import ResponseJson
from recollect.recipes.show import RecipeDetails, weights_json


async def search(call: Call) -> Response:
    asked: SearchParameters = call.parameters if call.body is None else call.body
    response = await call.service.ask(asked.answered, call.engine)
    call.metrics.search(response)
    return json_response(as_json(response, asked.explain, whole=asked.whole))


async def feedback(call: Call) -> Response:
    body: schemas.FeedbackBody = call.body
    call.engine.recipe(body.recipe)  # an unknown one is refused before anything is recorded
    accepted, dismissed = await call.service.ask(
        call.engine.feedback, body.query, body.id, accept=body.accepted, undo=body.undo
    )
    learned = await call.service.ask(call.engine.learned, body.recipe)
    return json_response(
        {"accepted": accepted, "dismissed": dismissed, "weights": weights_json(learned)}
    )


FOUND = {200: ReplySpec("The results, best first.", ResponseJson)}


async def save_recipe(call: Call) -> Response:
    new: schemas.NewRecipe = call.body
    await call.service.ask(
        call.engine.save_recipe, new.name, extends=new.extends, changes=new.set, replace=new.replace
    )
    saved = await call.service.ask(call.engine.describe_recipe, new.name)
    return json_response(saved, 201, {"Location": f"{PREFIX}/recipes/{new.name}"})


OPERATIONS = (
    Endpoint(
        "POST", f"{PREFIX}/search", search, "Search", FOUND, body=SearchParameters,
        example={"query": "how do we refresh tokens", "limit": 5, "explain": True}, problems=(404,),
        anywhere=True, pool=SEARCHES,
        details="`explain` adds to each result how its score came about; `facets` counts the "
        "values of everything that was found; `set` changes constants of the recipe for this "
        "search; `whole` adds the memory to each result, whatever the view; `vaults` searches only "
        "these, and `federate: false` only this server's own vault.",
    ),
    Endpoint(
        "GET", f"{PREFIX}/search", search, "Search, with the query in the address", FOUND,
        parameters=SearchParameters, problems=(404,), anywhere=True, pool=SEARCHES,
    ),
    Endpoint(
        "POST", f"{PREFIX}/feedback", feedback, "Say whether a result was right",
        {200: ReplySpec("Recorded.", schemas.FeedbackCounts)}, body=schemas.FeedbackBody,
        example={"query": "refresh tokens", "id": "auth-jwt-001", "accepted": True},
        problems=(404,), needs=(WRITE, SEARCH), pool=WRITES,
        details="The same again changes nothing, the opposite replaces what was said, and "
        "`undo: true` takes it back.",
    ),
    Endpoint(
        "POST", f"{PREFIX}/recipes", save_recipe, "Keep a ranking of your own",
        {201: ReplySpec("Saved.", RecipeDetails, headers={"Location": "Where it is."})},
        body=schemas.NewRecipe,
        example={"name": "mine", "extends": "blend", "set": {"fuse.weights.vector": 2.0}},
        problems=(404, 409), needs=(ADMIN, SEARCH), pool=WRITES,
    ),
)  # fmt: skip
