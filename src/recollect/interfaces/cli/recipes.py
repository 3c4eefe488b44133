"""`recollect recipes` and `recollect feedback`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import msgspec

from recollect.interfaces.cli.arguments import (
    Actions,
    add_action,
    add_json,
    argument,
    find_action,
    flag,
    one_of,
    usage_error,
)
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.output import BOLD, DIM, paint, print_json, print_rows, say
from recollect.interfaces.cli.selection import open_vault, resolve_id
from recollect.lifetime import Lifetime
from recollect.present.visible import visible
from recollect.recipes.overrides import tree
from recollect.recipes.registry import Recipes
from recollect.recipes.show import as_toml, differences, facts, learned_json, learned_lines
from recollect.settings_reading import home_folder, load_settings


def _recipes_arguments(parser: argparse.ArgumentParser) -> None:
    add_action(parser, ACTIONS, "a recipe; for check a file, for diff two recipes")
    parser.add_argument(
        "--reset", action="store_true", help="with learned: reset the weights to the declared ones"
    )
    add_json(parser, rows=True)


@command(
    "  recollect recipes\n  recollect recipes show blend\n"
    "  recollect recipes check mine.toml\n  recollect recipes diff vault mine\n"
    "  recollect recipes learned\n  recollect recipes learned --reset",
    _recipes_arguments,
)
def recipes(args: argparse.Namespace) -> int | None:
    if args.reset and args.action != "learned":
        raise usage_error("recipes learned --reset")
    recipes = Recipes(home_folder(os.environ) / "recipes")
    return find_action(args)(recipes, args)


def _list(recipes: Recipes, args: argparse.Namespace) -> None:
    default = load_settings(home_folder(os.environ)).search.recipe
    every, broken = recipes.readable()
    for problem in broken.values():
        print(f"recollect: {visible(problem)}", file=sys.stderr)
    for file in recipes.unused():
        note = f"{file} is not used: {file.stem} is a built-in recipe. Rename the file."
        print(f"recollect: {visible(note)}", file=sys.stderr)
    if args.json:
        print_rows(args, [facts(recipe) | {"default": recipe.name == default} for recipe in every])
        return
    for recipe in every:
        note = "  (default)" if recipe.name == default else ""
        print(f"{paint(f'{recipe.name:<12}', BOLD)}{recipe.about}{note}")
        print(f"{'':<12}{paint(f'{recipe.source} · {recipe.fingerprint}', DIM)}")


def _show(recipes: Recipes, args: argparse.Namespace) -> None:
    recipe = recipes.get(args.names[0])
    if args.json:
        print_json(facts(recipe) | {"declared": tree(recipe)})
    else:
        print(as_toml(recipe), end="")


def _check(recipes: Recipes, args: argparse.Namespace) -> None:
    [file] = args.names
    recipe = recipes.read(Path(file))
    sentence = f"{file} is OK: {recipe.source}, fingerprint {recipe.fingerprint}."
    say(args.json, sentence, **facts(recipe), ok=True)


def _diff(recipes: Recipes, args: argparse.Namespace) -> None:
    first, second = (recipes.get(name) for name in args.names)
    found = differences(first, second)
    if args.json:
        print_json([{"field": name, first.name: a, second.name: b} for name, a, b in found])
        return
    for name, before, after in found:
        print(f"{name}: {_json_text(before)} → {_json_text(after)}")
    if not found:
        print(f"{first.name} and {second.name} rank the same way.")


def _show_learned(recipes: Recipes, args: argparse.Namespace) -> None:
    names = args.names or [recipe.name for recipe in recipes.readable()[0]]
    with open_vault() as memory:
        if args.reset:
            memory.unlearn()
        every = [memory.learned(name) for name in names]
    shown = [one for one in every if one.weights or args.names]
    if args.json:
        print_rows(args, [learned_json(one) for one in shown])
    else:
        print("\n".join(line for one in shown for line in learned_lines(one)))


def _json_text(value: object) -> str:
    return "—" if value is None else msgspec.json.encode(value).decode()


ACTIONS: Actions[Recipes] = {
    "list": (_list, "list"),
    "show": (_show, "show NAME"),
    "check": (_check, "check FILE"),
    "diff": (_diff, "diff A B"),
    "learned": (_show_learned, "learned [NAME]"),
}


@command(
    '  recollect feedback "refresh tokens" auth-jwt-001 --accept\n'
    '  recollect feedback "refresh tokens" auth-jwt-001 --undo',
    argument("query", "QUERY", "the query that you searched for"),
    argument("id", "ID", "the result"),
    one_of(flag("--accept", "the result was right"), flag("--dismiss", "the result was wrong")),
    flag("--undo", "take back what you said of this result"),
    add_json,
)
def feedback(args: argparse.Namespace) -> None:
    if not (args.accept or args.dismiss or args.undo):
        raise usage_error("feedback QUERY ID --accept|--dismiss|--undo")
    accept = args.accept if args.accept or args.dismiss else None
    with open_vault(lifetime=Lifetime.ONCE) as memory:
        accepted, dismissed = memory.feedback(
            args.query, resolve_id(memory, args.id), accept=accept, undo=args.undo
        )
        done = "Taken back." if args.undo else "Noted."
        sentence = f"{done} Feedback so far: {accepted} accepted, {dismissed} dismissed."
        # Printed first: learning happens when the vault is closed.
        say(args.json, sentence, accepted=accepted, dismissed=dismissed)
