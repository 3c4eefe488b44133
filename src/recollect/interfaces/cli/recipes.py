"""Commands for rankings and models: recipes, feedback, models."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from recollect.errors import ProviderError, RecollectError, UserError
from recollect.interfaces.cli import arguments as arg
from recollect.interfaces.cli.commands import command
from recollect.interfaces.cli.config import set_value
from recollect.interfaces.cli.output import (
    BOLD,
    DIM,
    GREEN,
    YELLOW,
    paint,
    print_json,
    print_rows,
    progress,
    say,
)
from recollect.interfaces.cli.selection import open_vault, resolve_id
from recollect.lifetime import Lifetime
from recollect.models.active import ActiveModels, measure_models
from recollect.models.base import Tokenwise
from recollect.models.folder import (
    MULTILINGUAL,
    Declared,
    ModelFolder,
    builtin,
    declarations,
    folder_of,
    installed_models,
    languages_of,
)
from recollect.present.sentences import counted, visible
from recollect.recipes.learned import learned_json, learned_lines
from recollect.recipes.registry import Recipes, recipe_facts
from recollect.recipes.tree import as_toml, as_tree, differences
from recollect.settings import Embedding
from recollect.settings_reading import home_folder, load_settings, sources, variable_of


def _list_recipes(recipes: Recipes, args: argparse.Namespace) -> None:
    default = load_settings(home_folder(os.environ)).search.recipe
    every, broken = recipes.readable()
    for problem in broken.values():
        print(f"recollect: {visible(problem)}", file=sys.stderr)
    for file in recipes.unused_files():
        note = f"{file} is not used: {file.stem} is a built-in recipe. Rename the file."
        print(f"recollect: {visible(note)}", file=sys.stderr)
    if args.json:
        print_rows(
            args, [recipe_facts(recipe) | {"default": recipe.name == default} for recipe in every]
        )
        return
    for recipe in every:
        note = "  (default)" if recipe.name == default else ""
        print(f"{paint(f'{recipe.name:<12}', BOLD)}{recipe.about}{note}")
        print(f"{'':<12}{paint(f'{recipe.source} · {recipe.fingerprint}', DIM)}")


def _show(recipes: Recipes, args: argparse.Namespace) -> None:
    recipe = recipes.get(args.names[0])
    if args.json:
        print_json(recipe_facts(recipe) | {"declared": as_tree(recipe)})
    else:
        print(as_toml(recipe), end="")


def _check(recipes: Recipes, args: argparse.Namespace) -> None:
    [file] = args.names
    recipe = recipes.read(Path(file))
    sentence = f"{file} is OK: {recipe.source}, fingerprint {recipe.fingerprint}."
    say(args.json, sentence, **recipe_facts(recipe), ok=True)


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
        every = [memory.learned_weights(name) for name in names]
    shown = [one for one in every if one.weights or args.names]
    if args.json:
        print_rows(args, [learned_json(one) for one in shown])
    else:
        print("\n".join(line for one in shown for line in learned_lines(one)))


def _json_text(value: object) -> str:
    return "—" if value is None else msgspec.json.encode(value).decode()


RECIPE_ACTIONS: arg.Actions[Recipes] = {
    "list": (_list_recipes, "list"),
    "show": (_show, "show NAME"),
    "check": (_check, "check FILE"),
    "diff": (_diff, "diff A B"),
    "learned": (_show_learned, "learned [NAME]"),
}


@command(
    "  recollect recipes\n  recollect recipes show blend\n"
    "  recollect recipes check mine.toml\n  recollect recipes diff vault mine\n"
    "  recollect recipes learned\n  recollect recipes learned --reset",
    arg.action(RECIPE_ACTIONS, "a recipe; for check a file, for diff two recipes"),
    arg.flag("--reset", "with learned: reset the weights to the declared ones"),
    arg.rows(),
)
def recipes(args: argparse.Namespace) -> int | None:
    if args.reset and args.action != "learned":
        raise arg.usage_error("recipes learned --reset")
    recipes = Recipes(home_folder(os.environ) / "recipes")
    return arg.find_action(args)(recipes, args)


@command(
    '  recollect feedback "refresh tokens" auth-jwt-001 --accept\n'
    '  recollect feedback "refresh tokens" auth-jwt-001 --undo',
    arg.argument("query", "QUERY", "the query that you searched for"),
    arg.argument("id", "ID", "the result"),
    arg.one_of(
        arg.flag("--accept", "the result was right"), arg.flag("--dismiss", "the result was wrong")
    ),
    arg.flag("--undo", "take back your feedback on this result"),
    arg.add_json,
)
def feedback(args: argparse.Namespace) -> None:
    if not (args.accept or args.dismiss or args.undo):
        raise arg.usage_error("feedback QUERY ID --accept|--dismiss|--undo")
    accept = args.accept if args.accept or args.dismiss else None
    with open_vault(lifetime=Lifetime.ONCE) as memory:
        accepted, dismissed = memory.feedback(
            args.query, resolve_id(memory, args.id), accept=accept, undo=args.undo
        )
        done = "Taken back." if args.undo else "Noted."
        sentence = f"{done} Feedback so far: {accepted} accepted, {dismissed} dismissed."
        # Printed first: learning happens when the vault is closed.
        say(args.json, sentence, accepted=accepted, dismissed=dismissed)


# Models

KINDS = {"embed": "embedding", "rerank": "rerank"}
BYTES = 4.3  # in the file, for each number of a vector, with its share of the row and the codes
# The settings that belong to a model.
OWN_KEYS = ("provider", "model", "query_prefix", "document_prefix", "dimensions")


def _list_models(home: Path, args: argparse.Namespace) -> int:
    settings = load_settings(home)
    active = ActiveModels(settings, os.environ)
    names = {"embed": _name(active.configured_embedder), "rerank": _name(active.reranker)}
    found = [*_installed_models(settings.embedding, names)]
    spent = measure_models(active) if args.measure else {}
    notes = _vault_notes(home)
    if args.json:
        facts = {"active": names, "installed": found, "notes": notes, "measured_ms": spent}
        print_rows(args, facts, "installed")
    else:
        _print_models(names, found, notes, spent)
    return 1 if any(model["problem"] for model in found) else 0


def _name(find: Any) -> str:
    """Return the active model's identity, or `none` with the reason."""
    try:
        identity: str = find().identity
    except ProviderError as error:
        return f"none ({error})"
    return identity


def _installed_models(settings: Embedding, active: dict[str, str]) -> Iterator[dict[str, Any]]:
    """Yield the bundled models, and the ONNX folder of the settings."""
    for declared in declarations():
        size, problem = _check_files(declared)
        facts = _model_facts(declared, size, problem) | {"languages": languages_of(declared.name)}
        yield facts | {"active": active[declared.kind].startswith(f"builtin:{declared.name}")}
    if settings.provider == "onnx":
        with suppress(ProviderError):  # the active model's line says what is missing
            folder = ModelFolder(Path(settings.model).expanduser(), "embed")
            facts = _model_facts(folder.declared, folder.size(), folder.verify())
            yield facts | {"name": settings.model, "active": True}


def _model_facts(declared: Declared, size: int, problem: str | None) -> dict[str, Any]:
    return {
        "name": declared.name,
        "kind": KINDS[declared.kind],
        "active": False,
        "dimensions": declared.dimensions,
        "max_tokens": declared.max_length,
        "megabytes": round(size / 1e6, 1),
        "languages": "",
        "licence": declared.licence,
        "origin": declared.origin,
        "about": declared.about,
        "problem": problem,
    }


def _check_files(declared: Declared) -> tuple[int, str | None]:
    """Return the size of the model's files, and what is wrong with them, or None."""
    try:
        folder = folder_of(declared)
    except ProviderError as error:  # a file is missing
        return 0, str(error)
    return folder.size(), folder.verify()


def _vault_notes(home: Path) -> list[str]:
    """Return the vault's notes on the model, such as whether it can read the texts; [] without a
    vault, or if it is locked."""
    if not (home / "vault.db").exists():
        return []
    with suppress(RecollectError), open_vault(at_rest=True, lifetime=Lifetime.ONCE) as memory:
        return memory.model_notes()
    return []


def _use(home: Path, args: argparse.Namespace) -> None:
    """Compute the vectors of another model, then change the settings and switch to them."""
    [name] = args.names
    settings = load_settings(home)
    wanted = _find_model(settings.embedding, name)
    keys = [f"embedding.{key}" for key in OWN_KEYS]
    if fixed := [key for key in keys if sources(home)[key] == "environment"]:
        raise UserError(
            f"{variable_of(fixed[0])} is set in the environment, and overrides the settings file; "
            "remove it first."
        )

    def write() -> None:
        for key in keys:
            value = getattr(wanted, key.partition(".")[2])
            if value != getattr(load_settings(home).embedding, key.partition(".")[2]):
                set_value(home, key, value, lambda: load_settings(home))

    models = ActiveModels(structs.replace(settings, embedding=wanted), os.environ)
    with open_vault() as memory:
        waiting, chosen = memory.waiting(models), models.configured_embedder()
        more = round(waiting * chosen.documents(["dimension"]).shape[1] * BYTES)
        if waiting and not args.json:
            words = " and 4 kB for 100 words of text" if isinstance(chosen, Tokenwise) else ""
            size = f": about {more / 1e6:,.1f} MB more{words}" if more >= 1e6 else ""
            print(
                f"Until all are computed, the vault holds vectors of both models{size}.",
                flush=True,
            )
        with progress("Embedding", waiting) as advance:
            made = memory.switch_model(models, switched=write, progress=advance)
    done = f"{visible(name)} is the embedding model now; {counted(made, 'vector')} computed."
    say(args.json, done, model=name, identity=chosen.identity, vectors=made, bytes=more)


def _find_model(settings: Embedding, name: str) -> Embedding:
    """Return the settings with this model; raise UserError if it is not installed."""
    known = installed_models(settings)
    if name in known:
        return known[name]
    if name == MULTILINGUAL:
        builtin("embed", name)  # says how to install it
    folder = Path(name).expanduser()
    if not folder.is_dir():
        raise UserError(
            f"There is no embedding model {name!r}; installed are: {', '.join(known)}. You can "
            "also name the folder of an ONNX model."
        )
    ModelFolder(folder, "embed")  # says what is missing in it
    return structs.replace(known[next(iter(known))], provider="onnx", model=str(folder.resolve()))


def _print_models(
    names: dict[str, str], found: list[dict[str, Any]], notes: list[str], measured: dict[str, float]
) -> None:
    for kind, name in names.items():
        print(f"{KINDS[kind]:<10} {paint(name, BOLD)}")
    print()
    for model in found:
        state = paint("files OK", GREEN) if not model["problem"] else ""
        mark = "  (active)" if model["active"] else ""
        size = f"{model['megabytes']} MB"
        print(f"{paint(model['name'], BOLD)}{mark}  {model['kind']}, {size}  {state}")
        print(f"    {model['about'] or counted(model['dimensions'], 'dimension')}")
        facts = (model["licence"], model["origin"], model["languages"])
        print(paint(f"    {' · '.join(filter(None, facts))}", DIM))
        if model["problem"]:
            print(paint(f"    ! {model['problem']}", YELLOW))
    for note in notes:
        print(paint(f"! {visible(note)}", YELLOW))
    for name, spent in measured.items():
        print(f"{name:<26}{spent:>9.1f} ms")


MODEL_ACTIONS: arg.Actions[Path] = {"list": (_list_models, "list"), "use": (_use, "use NAME")}


@command(
    "  recollect models\n  recollect models --measure\n  recollect models use multilingual",
    arg.action(MODEL_ACTIONS, "for use: a model's name, or the folder of an ONNX model"),
    arg.flag("--measure", "also load the active models and time them"),
    arg.rows(),
)
def models(args: argparse.Namespace) -> int | None:
    return arg.find_action(args)(home_folder(os.environ), args)
