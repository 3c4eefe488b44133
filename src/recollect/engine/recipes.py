"""Listing and changing recipes, and the weights that feedback has taught them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from msgspec import Meta

from recollect.auth.capabilities import ADMIN, SEARCH, WRITE
from recollect.engine.operations import operation
from recollect.engine.session import Session
from recollect.errors import UserError
from recollect.recipes.base import Recipe
from recollect.recipes.learned import Learned, LearnedJson, learned_by, learned_json
from recollect.recipes.registry import RecipeDetails, RecipeFacts, RecipeList, recipe_facts
from recollect.recipes.tree import as_toml, as_tree
from recollect.types import about

Name = Annotated[str, about("the recipe")]


@operation(SEARCH, anywhere=True, route="GET /recipes")
def list_recipes(session: Session) -> RecipeList:
    """List the recipes, and what is wrong with files that cannot be read."""
    found, broken = session.recipes.readable()
    return RecipeList([RecipeFacts(**_facts(session, each)) for each in found], broken)


@operation(SEARCH, anywhere=True, route="GET /recipes/{recipe}")
def describe_recipe(session: Session, recipe: Name) -> RecipeDetails:
    """Return everything that a recipe declares, also as TOML."""
    found = session.recipe(recipe)
    short = _facts(session, found)
    return RecipeDetails(**short, declared=as_tree(found), toml=as_toml(found))


def _facts(session: Session, recipe: Recipe) -> dict[str, Any]:
    return recipe_facts(recipe) | {"default": recipe.name == session.settings.search.recipe}


@operation(ADMIN)
def save_recipe(
    session: Session,
    name: str,
    *,
    extends: str,
    changes: Mapping[str, object],
    replace: bool = False,
) -> Recipe:
    """Save changed constants as a recipe of your own, in `recipes/NAME.toml`."""
    session.recipes.save(name, extends, changes, replace=replace)
    session.wrote("save recipe")
    return session.recipes.get(name)


@operation(ADMIN, route="DELETE /recipes/{recipe}")
def remove_recipe(session: Session, recipe: Name) -> None:
    """Delete a recipe of your own. It must not be the default, and no other may extend it."""
    file = session.recipes.own_file(recipe, "deleted")
    _check_not_default(session, recipe)
    file.unlink(missing_ok=True)
    session.wrote("delete recipe")


@operation(ADMIN, route="PATCH /recipes/{recipe}")
def rename_recipe(
    session: Session,
    recipe: Name,
    name: Annotated[str, about("its new name", "my-own"), Meta(min_length=1, max_length=64)],
) -> RecipeDetails:
    """Rename a recipe of your own. It must not be the default, and no other may extend it."""
    session.recipes.own_file(recipe, "renamed")
    _check_not_default(session, recipe)
    session.recipes.rename(recipe, name)
    session.wrote("rename recipe")
    return describe_recipe(session, name)


def _check_not_default(session: Session, name: str) -> None:
    if name == session.settings.search.recipe:
        raise UserError(f"{name} is the setting search.recipe; choose another one there first.")


@operation(
    SEARCH, retry=True, route="GET /recipes/{recipe}/learned",
    as_json=learned_json, answer=LearnedJson,
)  # fmt: skip
def learned_weights(
    session: Session, recipe: Annotated[str | None, about("the recipe")] = None
) -> Learned:
    """Return what feedback made of the weights of a recipe, and the evidence for it."""
    embeds = session.models.embeds()
    return learned_by(session.recipe(recipe), session.store.feedback, vectors=embeds)


@operation(
    WRITE, retry=True, route="DELETE /recipes/{recipe}/learned",
    as_json=learned_json, answer=LearnedJson,
)  # fmt: skip
def unlearn(session: Session, recipe: Annotated[str | None, about("the recipe")] = None) -> Learned:
    """Put every learned weight back to what is declared. Only feedback given from now on is
    learned from. What was said of results stays. Returns the weights of this recipe."""
    session.recipe(recipe)  # an unknown one changes nothing
    session.store.feedback.unlearn()
    session.wrote("unlearn")
    return learned_weights(session, recipe)
