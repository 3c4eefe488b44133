"""All recipes: the built-in ones, and the user's own under `recipes/*.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct

from recollect.errors import Exists, NotFound, UserError
from recollect.recipes.base import Recipe
from recollect.recipes.blend import BLEND
from recollect.recipes.covalence import COVALENCE
from recollect.recipes.echovault import ECHOVAULT
from recollect.recipes.gnosis import GNOSIS
from recollect.recipes.router import ROUTER
from recollect.recipes.tree import (
    nested_changes,
    override,
    read_recipe,
    read_toml,
    rename_recipe,
    write_recipe,
)
from recollect.recipes.vault import VAULT
from recollect.types import View

BUILT_IN = {recipe.name: recipe for recipe in (BLEND, VAULT, ECHOVAULT, GNOSIS, ROUTER, COVALENCE)}


def with_deep_search() -> list[str]:
    """Return the built-in recipes with a deep search."""
    return [name for name, recipe in BUILT_IN.items() if recipe.deep is not None]


class Recipes:
    """Finds a recipe by name: a built-in one, else `folder/NAME.toml`."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        return [*BUILT_IN, *self._own_files()]

    def unused_files(self) -> list[Path]:
        """Return the files that are never read, since a built-in recipe has their name."""
        return [file for name, file in self._files().items() if name in BUILT_IN]

    def readable(self) -> tuple[list[Recipe], dict[str, str]]:
        """Return all usable recipes, and the error of each other one by name."""
        found: list[Recipe] = []
        broken: dict[str, str] = {}
        for name in self.names():
            try:
                found.append(self.get(name))
            except UserError as error:
                broken[name] = str(error)
        return found, broken

    def get(self, name: str) -> Recipe:
        return self._found(name, ())

    def _found(self, name: str, chain: tuple[str, ...]) -> Recipe:
        """Return the recipe; refuse one of `chain`, the recipes that extend each other up to it."""
        if name in BUILT_IN:
            return BUILT_IN[name]
        if name in chain:
            circle = (*chain[chain.index(name) :], name)
            if len(circle) == 2:
                raise UserError(f"Recipe {name} cannot extend itself.")
            raise UserError(f"Recipe {circle[0]} extends {', which extends '.join(circle[1:])}.")
        if (file := self._own_files().get(name)) is not None:
            return self._read(file, (*chain, name))
        known = ", ".join(self.names())
        raise NotFound(f"There is no recipe {name!r}; there are: {known}.")

    def with_changes(self, name: str, changes: Mapping[str, object]) -> Recipe:
        """Return a recipe with these constants, by dotted name, changed."""
        return override(self.get(name), nested_changes(changes), name)

    def save(
        self, name: str, extends: str, changes: Mapping[str, object], *, replace: bool = False
    ) -> Path:
        """Write `folder/NAME.toml`, whole or not at all; it is checked first. replace: overwrite an
        existing file."""
        if self._folder is None:
            raise UserError("There is no folder for recipes of one's own.")
        if name in BUILT_IN:
            raise UserError(f"{name!r} is a recipe that comes with Recollect; choose another name.")
        self._found(extends, (name,))
        self.with_changes(extends, changes)
        return write_recipe(self._folder, name, extends, changes, replace=replace)

    def rename(self, name: str, new: str) -> None:
        """Rename a user's recipe, under the conditions of deleting it."""
        if new in BUILT_IN:
            raise UserError(f"{new!r} is a recipe that comes with Recollect; choose another name.")
        rename_recipe(self.own_file(name, "renamed"), new)

    def own_file(self, name: str, done: str) -> Path:
        """Return the file of a user's recipe that no other one extends. done: "deleted" or
        "renamed", for messages."""
        if name in BUILT_IN:
            raise UserError(f"{name!r} comes with Recollect and cannot be {done}.")
        files = self._own_files()
        if name not in files:
            self.get(name)  # NotFound, with the names there are
        for other, file in files.items():
            parent = None
            with suppress(UserError):  # an unreadable file extends nothing
                parent = read_toml(file).get("extends")
            if parent == name:
                raise Exists(
                    f"The recipe {other!r} extends {name!r}, which cannot be {done}; delete "
                    f"{other!r} first."
                )
        return files[name]

    def read(self, file: Path) -> Recipe:
        """Read and check the recipe of a TOML file."""
        return self._read(file, (file.stem,))

    def _read(self, file: Path, chain: tuple[str, ...]) -> Recipe:
        return read_recipe(file, lambda name: self._found(name, chain))

    def _own_files(self) -> dict[str, Path]:
        return {name: file for name, file in self._files().items() if name not in BUILT_IN}

    def _files(self) -> dict[str, Path]:
        files = self._folder.glob("*.toml") if self._folder is not None else ()
        return dict(sorted((file.stem, file) for file in files))


class RecipeFacts(Struct):
    """A recipe in short."""

    name: str
    about: str
    source: str
    view: View
    fingerprint: str
    default: bool


class RecipeList(Struct):
    """Every recipe; `broken` has the error of each file that cannot be read."""

    recipes: list[RecipeFacts]
    broken: dict[str, str]


class RecipeDetails(RecipeFacts):
    """A recipe with everything it declares, also as TOML."""

    declared: dict[str, Any]
    toml: str


def recipe_facts(recipe: Recipe) -> dict[str, str]:
    """Return a recipe's name, description, source, view and fingerprint."""
    names = ("name", "about", "source", "view", "fingerprint")
    return {name: getattr(recipe, name) for name in names}
