"""The recipes there are: the built-in ones, and a person's own under `recipes/*.toml`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path

from recollect.errors import Exists, NotFound, UserError
from recollect.recipes.base import Recipe
from recollect.recipes.overrides import declared, nested_changes, overridden, read_recipe


class BuiltIn(Mapping[str, Recipe]):
    """The recipes that come with Recollect, by name. Each has a module of its name, which is
    imported when the recipe is asked for: a search needs the parts of one."""

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
    """The built-in recipes that have a deep search."""
    return [name for name, recipe in BUILT_IN.items() if recipe.deep is not None]


class Recipes:
    """Finds a recipe by name: built-in ones first, then `folder/NAME.toml`."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def names(self) -> list[str]:
        return [*BUILT_IN, *sorted(file.stem for file in self._files())]

    def unused(self) -> list[Path]:
        """Files that are never read, since a recipe that comes with Recollect has their name."""
        return [file for file in self._every_file() if file.stem in BUILT_IN]

    def readable(self) -> tuple[list[Recipe], dict[str, str]]:
        """Every recipe that can be used, and by name why others cannot: a file with an error hides
        no other."""
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
        """The recipe; refused where it is one of `chain`, the recipes that lead to it."""
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

    def changed(self, name: str, changes: Mapping[str, object]) -> Recipe:
        """The named recipe with these constants, by dotted name, set otherwise."""
        return overridden(self.get(name), nested_changes(changes), name)

    def save(
        self, name: str, extends: str, changes: Mapping[str, object], *, replace: bool = False
    ) -> Path:
        """Write a recipe of one's own: `folder/NAME.toml`, whole or not at all. It is checked
        before anything is written; one that is there stays unless it is to be replaced."""
        from recollect.recipes.saving import write_recipe  # noqa: PLC0415  start-up time

        if self._folder is None:
            raise UserError("There is no folder for recipes of one's own.")
        if name in BUILT_IN:
            raise UserError(f"{name!r} is a recipe that comes with Recollect; choose another name.")
        self._found(extends, (name,))
        self.changed(extends, changes)
        return write_recipe(self._folder, name, extends, changes, replace=replace)

    def rename(self, name: str, new: str) -> None:
        """Give a recipe of one's own another name, under the conditions of deleting it."""
        from recollect.recipes.saving import rename_recipe  # noqa: PLC0415  start-up time

        if new in BUILT_IN:
            raise UserError(f"{new!r} is a recipe that comes with Recollect; choose another name.")
        rename_recipe(self.own(name, "renamed"), new)

    def own(self, name: str, done: str) -> Path:
        """The file of a recipe of one's own that no other one extends, and so can be `done`:
        "deleted"."""
        if name in BUILT_IN:
            raise UserError(f"{name!r} comes with Recollect and cannot be {done}.")
        files = {file.stem: file for file in self._files()}
        if name not in files:
            self.get(name)  # NotFound, with the names there are
        parents: dict[str, object] = {}
        for other, file in files.items():
            with suppress(UserError):  # one that cannot be read extends nothing
                parents[other] = declared(file).get("extends")
        for other, parent in parents.items():
            if parent == name:
                raise Exists(
                    f"The recipe {other!r} extends {name!r}, which cannot be {done}; delete "
                    f"{other!r} first."
                )
        return files[name]

    def read(self, file: Path) -> Recipe:
        """The recipe a TOML file declares, checked."""
        return self._read(file, (file.stem,))

    def _read(self, file: Path, chain: tuple[str, ...]) -> Recipe:
        return read_recipe(file, lambda name: self._found(name, chain))

    def _files(self) -> list[Path]:
        return [file for file in self._every_file() if file.stem not in BUILT_IN]

    def _every_file(self) -> list[Path]:
        if self._folder is None or not self._folder.is_dir():
            return []
        return sorted(self._folder.glob("*.toml"))
