"""`recollect recipes`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

from recollect.interfaces.cli.arguments import add_json, check_action
from recollect.interfaces.cli.output import BOLD, DIM, print_json, styled, visible
from recollect.recipes.overrides import tree
from recollect.recipes.registry import Recipes
from recollect.recipes.show import as_toml, differences, facts
from recollect.settings import home_folder, load_settings

EXAMPLE = (
    "  recollect recipes\n  recollect recipes show blend\n"
    "  recollect recipes check mine.toml\n  recollect recipes diff vault mine"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "action", metavar="ACTION", nargs="?", default="list", help="list, show, check or diff"
    )
    parser.add_argument("names", metavar="NAME", nargs="*", help="recipes, or a file to check")
    add_json(parser)


def run(args: argparse.Namespace) -> int:
    usages = {name: usage for name, (_, usage) in ACTIONS.items()}
    check_action("recipes", args.action, args.names, usages)
    action, _ = ACTIONS[args.action]
    action(Recipes(home_folder(os.environ) / "recipes"), args.names, args.json)
    return 0


def _list(recipes: Recipes, names: list[str], as_json: bool) -> None:
    default = load_settings(home_folder(os.environ)).search.recipe
    every = [recipes.get(name) for name in recipes.names()]
    for file in recipes.unused():
        note = f"{file} is not used: {file.stem} comes with Recollect; give it another name."
        print(f"recollect: {visible(note)}", file=sys.stderr)
    if as_json:
        print_json([facts(recipe) | {"default": recipe.name == default} for recipe in every])
        return
    for recipe in every:
        note = "  (default)" if recipe.name == default else ""
        print(f"{styled(f'{recipe.name:<12}', BOLD)}{recipe.about}{note}")
        print(f"{'':<12}{styled(f'{recipe.source} · {recipe.fingerprint}', DIM)}")


def _show(recipes: Recipes, names: list[str], as_json: bool) -> None:
    recipe = recipes.get(names[0])
    if as_json:
        print_json(facts(recipe) | {"declared": tree(recipe)})
    else:
        print(as_toml(recipe), end="")


def _check(recipes: Recipes, names: list[str], as_json: bool) -> None:
    recipe = recipes.read(Path(names[0]))
    if as_json:
        print_json(facts(recipe) | {"ok": True})
    else:
        print(f"{names[0]} is in order: {recipe.source}, fingerprint {recipe.fingerprint}.")


def _diff(recipes: Recipes, names: list[str], as_json: bool) -> None:
    one, other = (recipes.get(name) for name in names)
    found = differences(one, other)
    if as_json:
        print_json([{"field": name, one.name: a, other.name: b} for name, a, b in found])
        return
    for name, before, after in found:
        print(f"{name}: {_text(before)} → {_text(after)}")
    if not found:
        print(f"{one.name} and {other.name} rank the same way.")


def _text(value: object) -> str:
    return "—" if value is None else msgspec.json.encode(value).decode()


ACTIONS: dict[str, tuple[Callable[[Recipes, list[str], bool], None], str]] = {
    "list": (_list, "list"),
    "show": (_show, "show NAME"),
    "check": (_check, "check FILE"),
    "diff": (_diff, "diff A B"),
}
