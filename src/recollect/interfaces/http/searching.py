"""The routes that search: search, related, context, feedback; and the recipes they rank by."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from recollect.auth.capabilities import ADMIN, SEARCH, WRITE
from recollect.engine import Recollect
from recollect.interfaces.http import schemas
from recollect.interfaces.http.operations import PREFIX, Call, Endpoint, ReplySpec, json_response
from recollect.interfaces.http.parameters import SearchParameters
from recollect.interfaces.lanes import SEARCHES, WRITES
from recollect.present.response import as_json
from recollect.present.schema import ResponseJson
from recollect.recipes.base import Recipe
from recollect.recipes.overrides import tree
from recollect.recipes.show import as_toml, facts, learned_json, weights_json


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
        {
            "accepted": accepted,
            "dismissed": dismissed,
            "weights": weights_json(learned),
        }
    )


FOUND = {200: ReplySpec("The results, best first.", ResponseJson)}


def _facts(engine: Recollect, recipe: Recipe) -> dict[str, Any]:
    return facts(recipe) | {"default": recipe.name == engine.settings.search.recipe}


async def recipes(call: Call) -> Response:
    return json_response(await call.service.ask(_recipes, call.engine))


def _recipes(engine: Recollect) -> dict[str, Any]:
    found, broken = engine.recipes.readable()
    return {"recipes": [_facts(engine, recipe) for recipe in found], "broken": broken}


async def recipe(call: Call) -> Response:
    return json_response(
        await call.service.ask(_recipe, call.engine, call.request.path_params["name"])
    )


def _recipe(engine: Recollect, name: str) -> dict[str, Any]:
    declared = engine.recipe(name)
    return _facts(engine, declared) | {"declared": tree(declared), "toml": as_toml(declared)}


async def save_recipe(call: Call) -> Response:
    new: schemas.NewRecipe = call.body
    await call.service.ask(
        call.engine.save_recipe, new.name, extends=new.extends, changes=new.set, replace=new.replace
    )
    headers = {"Location": f"{PREFIX}/recipes/{new.name}"}
    return json_response(await call.service.ask(_recipe, call.engine, new.name), 201, headers)


async def remove_recipe(call: Call) -> Response:
    await call.service.ask(call.engine.remove_recipe, call.request.path_params["name"])
    return Response(status_code=204)


async def rename_recipe(call: Call) -> Response:
    new: schemas.RecipeName = call.body
    await call.service.ask(call.engine.rename_recipe, call.request.path_params["name"], new.name)
    return json_response(await call.service.ask(_recipe, call.engine, new.name))


async def learned(call: Call) -> Response:
    name = call.request.path_params["name"]
    return json_response(learned_json(await call.service.ask(call.engine.learned, name)))


async def unlearn(call: Call) -> Response:
    call.engine.recipe(call.request.path_params["name"])
    await call.service.ask(call.engine.unlearn)
    return await learned(call)


OPERATIONS = (
    Endpoint(
        "POST", f"{PREFIX}/search", search, "Search", FOUND, body=SearchParameters,
        example={"query": "how do we refresh tokens", "limit": 5, "explain": True}, problems=(404,),
        anywhere=True, lane=SEARCHES,
        details="`explain` adds to each result how its score came about; `facets` counts the "
        "values of everything that was found; `set` changes constants of the recipe for this "
        "search; `whole` adds the memory to each result, whatever the view; `vaults` searches only "
        "these, and `federate: false` only this server's own vault.",
    ),
    Endpoint(
        "GET", f"{PREFIX}/search", search, "Search, with the query in the address", FOUND,
        parameters=SearchParameters, problems=(404,), anywhere=True, lane=SEARCHES,
    ),
    Endpoint(
        "POST", f"{PREFIX}/feedback", feedback, "Say whether a result was right",
        {200: ReplySpec("Recorded.", schemas.FeedbackCounts)}, body=schemas.FeedbackBody,
        example={"query": "refresh tokens", "id": "auth-jwt-001", "accepted": True},
        problems=(404,), needs=(WRITE, SEARCH), lane=WRITES,
        details="The same again changes nothing, the opposite replaces what was said, and "
        "`undo: true` takes it back.",
    ),
    Endpoint(
        "GET", f"{PREFIX}/recipes", recipes, "The rankings there are",
        {200: ReplySpec("Each in short.", schemas.RecipeList)}, anywhere=True,
    ),
    Endpoint(
        "POST", f"{PREFIX}/recipes", save_recipe, "Keep a ranking of your own",
        {201: ReplySpec("Saved.", schemas.RecipeDetails, headers={"Location": "Where it is."})},
        body=schemas.NewRecipe,
        example={"name": "mine", "extends": "blend", "set": {"fuse.weights.vector": 2.0}},
        problems=(404, 409), needs=(ADMIN, SEARCH), lane=WRITES,
    ),
    Endpoint(
        "GET", f"{PREFIX}/recipes/{{name}}", recipe, "A ranking, with everything it declares",
        {200: ReplySpec("The recipe.", schemas.RecipeDetails)}, problems=(404,), anywhere=True,
    ),
    Endpoint(
        "PATCH", f"{PREFIX}/recipes/{{name}}", rename_recipe, "Rename a ranking of your own",
        {200: ReplySpec("Renamed.", schemas.RecipeDetails)}, body=schemas.RecipeName,
        example={"name": "my-own"}, problems=(404, 409), needs=(ADMIN, SEARCH), lane=WRITES,
        details="Under the conditions of deleting it.",
    ),
    Endpoint(
        "DELETE", f"{PREFIX}/recipes/{{name}}", remove_recipe, "Delete a ranking of your own",
        {204: ReplySpec("Deleted.")}, problems=(404, 409), needs=(ADMIN, SEARCH), lane=WRITES,
        details="Not one that comes with Recollect, that another one extends, or that is the "
        "default.",
    ),
    Endpoint(
        "GET", f"{PREFIX}/recipes/{{name}}/learned", learned, "What feedback made of its weights",
        {200: ReplySpec("The weights and the evidence.", schemas.LearnedJson)}, problems=(404,),
    ),
    Endpoint(
        "DELETE", f"{PREFIX}/recipes/{{name}}/learned", unlearn, "Back to the declared weights",
        {200: ReplySpec("The weights as they are now.", schemas.LearnedJson)}, problems=(404,),
        needs=(WRITE, SEARCH), lane=WRITES,
        details="Only feedback that is given from then on is learned from.",
    ),
)  # fmt: skip
