"""The routes that list, show, save and delete recipes."""

from __future__ import annotations

from typing import Any

from starlette.responses import Response

from recollect.auth.capabilities import ADMIN, SEARCH, WRITE
from recollect.engine import Recollect
from recollect.interfaces.http import schemas
from recollect.interfaces.http.operations import PREFIX, Call, Operation, ReplySpec, json_response
from recollect.interfaces.lanes import WRITES
from recollect.recipes.base import Recipe
from recollect.recipes.overrides import tree
from recollect.recipes.show import as_toml, facts, learned_json


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
    Operation(
        "GET", f"{PREFIX}/recipes", recipes, "The rankings there are",
        {200: ReplySpec("Each in short.", schemas.RecipeList)}, anywhere=True,
    ),
    Operation(
        "POST", f"{PREFIX}/recipes", save_recipe, "Keep a ranking of your own",
        {201: ReplySpec("Saved.", schemas.RecipeDetails, headers={"Location": "Where it is."})},
        body=schemas.NewRecipe,
        example={"name": "mine", "extends": "blend", "set": {"fuse.weights.vector": 2.0}},
        problems=(404, 409), needs=(ADMIN, SEARCH), lane=WRITES,
    ),
    Operation(
        "GET", f"{PREFIX}/recipes/{{name}}", recipe, "A ranking, with everything it declares",
        {200: ReplySpec("The recipe.", schemas.RecipeDetails)}, problems=(404,), anywhere=True,
    ),
    Operation(
        "PATCH", f"{PREFIX}/recipes/{{name}}", rename_recipe, "Rename a ranking of your own",
        {200: ReplySpec("Renamed.", schemas.RecipeDetails)}, body=schemas.RecipeName,
        example={"name": "my-own"}, problems=(404, 409), needs=(ADMIN, SEARCH), lane=WRITES,
        details="Under the conditions of deleting it.",
    ),
    Operation(
        "DELETE", f"{PREFIX}/recipes/{{name}}", remove_recipe, "Delete a ranking of your own",
        {204: ReplySpec("Deleted.")}, problems=(404, 409), needs=(ADMIN, SEARCH), lane=WRITES,
        details="Not one that comes with Recollect, that another one extends, or that is the "
        "default.",
    ),
    Operation(
        "GET", f"{PREFIX}/recipes/{{name}}/learned", learned, "What feedback made of its weights",
        {200: ReplySpec("The weights and the evidence.", schemas.LearnedJson)}, problems=(404,),
    ),
    Operation(
        "DELETE", f"{PREFIX}/recipes/{{name}}/learned", unlearn, "Back to the declared weights",
        {200: ReplySpec("The weights as they are now.", schemas.LearnedJson)}, problems=(404,),
        needs=(WRITE, SEARCH), lane=WRITES,
        details="Only feedback that is given from then on is learned from.",
    ),
)  # fmt: skip
