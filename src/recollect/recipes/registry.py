"""All recipes: the built-in ones, and the user's own under `recipes/*.toml`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from recollect.errors import Exists, NotFound, UserError
from recollect.recipes.base import Recipe
from recollect.recipes.overrides import nested_changes, override, read_recipe, read_toml


class BuiltIn(Mapping[str, Recipe]):
    """The built-in recipes by name. Each has its own module, imported on first use: a search needs
    the parts of only one."""

    NAMES = ("blend", "vault", "echovault", "gnosis", "router", "covalence")

    def __getitem__(self, name: str) -> Recipe:
        if name not in self.NAMES:
            raise KeyError(name)
        recipe: Recipe = getattr(import_module(f"recollect.recipes.{name}"), name.upper())
        return recipe

    def __contains__(self, name: object) -> bool:
        return name in self.NAMES

    def __iter__(self) -> Iterator[str]:
        return iter(self.NAMES)

    def __len__(self) -> int:
        return len(self.NAMES)


BUILT_IN = BuiltIn()


def with_deep_search() -> list[str]:
    """Return the built-in recipes with a deep search."""
    return [name for name, recipe in BUILT_IN.items() if recipe.deep is not None]


class Recipes:
    """Finds a recipe by name: a built-in one, else `folder/NAME.toml`."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        return [*BUILT_IN, *sorted(file.stem for file in self._files())]

    def unused_files(self) -> list[Path]:
        """Return the files that are never read, since a built-in recipe has their name."""
        return [file for file in self._every_file() if file.stem in BUILT_IN]

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
        for file in self._files():
            if file.stem == name:
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
        from recollect.recipes.saving import write_recipe  # noqa: PLC0415  start-up time

        if self._folder is None:
            raise UserError("There is no folder for recipes of one's own.")
        if name in BUILT_IN:
            raise UserError(f"{name!r} is a recipe that comes with Recollect; choose another name.")
        self._found(extends, (name,))
        self.with_changes(extends, changes)
        return write_recipe(self._folder, name, extends, changes, replace=replace)

    def rename(self, name: str, new: str) -> None:
        """Rename a user's recipe, under the conditions of deleting it."""
        from recollect.recipes.saving import rename_recipe  # noqa: PLC0415  start-up time

        if new in BUILT_IN:
            raise UserError(f"{new!r} is a recipe that comes with Recollect; choose another name.")
        rename_recipe(self.own_file(name, "renamed"), new)

    def own_file(self, name: str, done: str) -> Path:
        """Return the file of a user's recipe that no other one extends. done: "deleted" or
        "renamed", for messages."""
        if name in BUILT_IN:
            raise UserError(f"{name!r} comes with Recollect and cannot be {done}.")
        files = {file.stem: file for file in self._files()}
        if name not in files:
            self.get(name)  # NotFound, with the names there are
        parents: dict[str, object] = {}
        for other, file in files.items():
            with suppress(UserError):  # an unreadable file extends nothing
                parents[other] = read_toml(file).get("extends")
        for other, parent in parents.items():
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

    def _files(self) -> list[Path]:
        return [file for file in self._every_file() if file.stem not in BUILT_IN]

    def _every_file(self) -> list[Path]:
        if self._folder is None or not self._folder.is_dir():
            return []
        return sorted(self._folder.glob("*.toml"))
