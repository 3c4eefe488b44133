"""`recollect models`."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from typing import Any

from recollect.errors import ProviderError
from recollect.interfaces.cli.arguments import add_json
from recollect.interfaces.cli.output import BOLD, DIM, GREEN, YELLOW, print_rows, styled
from recollect.models.active import ActiveModels
from recollect.models.builtin import declarations, folder_of
from recollect.models.folder import Declared
from recollect.settings import home_folder, load_settings

EXAMPLE = "  recollect models\n  recollect models --measure"
QUERY = "how do we refresh session tokens"
DOCUMENTS = ["A refresh token is exchanged for a new access token before the old one expires."] * 20
KINDS = {"embed": "embedding", "rerank": "rerank"}


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--measure", action="store_true", help="also load the active models and time them"
    )
    add_json(parser, rows=True)


def run(args: argparse.Namespace) -> int:
    settings = load_settings(home_folder(os.environ))
    active = ActiveModels(settings, os.environ)
    names = {"embed": _name(active.embedder), "rerank": _name(active.reranker)}
    bundled = [_facts(declared, names[declared.kind]) for declared in declarations()]
    measured = _measured(active) if args.measure else {}
    if args.json:
        facts = {"active": names, "built_in": bundled, "measured_ms": measured}
        print_rows(args, facts, "built_in")
    else:
        _tell(names, bundled, measured)
    return 1 if any(model["problem"] for model in bundled) else 0


def _name(find: Any) -> str:
    """The active model's identity, or why there is none."""
    try:
        identity: str = find().identity
    except ProviderError as error:
        return f"none ({error})"
    return identity


def _facts(declared: Declared, active: str) -> dict[str, Any]:
    size, problem = _state(declared)
    return {
        "name": declared.name,
        "kind": KINDS[declared.kind],
        "active": active.startswith(f"builtin:{declared.name}"),
        "dimensions": declared.dimensions,
        "max_tokens": declared.max_length,
        "megabytes": round(size / 1e6, 1),
        "licence": declared.licence,
        "origin": declared.origin,
        "about": declared.about,
        "problem": problem,
    }


def _state(declared: Declared) -> tuple[int, str | None]:
    """The size of the model's files, and what is wrong with them, if anything."""
    try:
        folder = folder_of(declared)
    except ProviderError as error:  # a file is missing
        return 0, str(error)
    return folder.size(), folder.verify()


def _measured(active: ActiveModels) -> dict[str, float]:
    """How long loading and using the active models takes here, in milliseconds."""
    spent: dict[str, float] = {}
    calls: dict[str, Callable[[], object]] = {
        "load and embed one query": lambda: active.embedder().queries([QUERY]),
        "embed one query": lambda: active.embedder().queries([QUERY]),
        "embed 20 memories": lambda: active.embedder().documents(DOCUMENTS),
        "load and rerank one": lambda: active.reranker().scores(QUERY, DOCUMENTS[:1]),
        "rerank 20 memories": lambda: active.reranker().scores(QUERY, DOCUMENTS),
    }
    for name, call in calls.items():
        start = time.perf_counter()
        try:
            call()
        except ProviderError:
            continue
        spent[name] = round((time.perf_counter() - start) * 1000, 1)
    return spent


def _tell(names: dict[str, str], bundled: list[dict[str, Any]], measured: dict[str, float]) -> None:
    for kind, name in names.items():
        print(f"{KINDS[kind]:<10} {styled(name, BOLD)}")
    print()
    for model in bundled:
        state = styled("files OK", GREEN) if not model["problem"] else ""
        mark = "  (active)" if model["active"] else ""
        size = f"{model['megabytes']} MB"
        print(f"{styled(model['name'], BOLD)}{mark}  {model['kind']}, {size}  {state}")
        print(f"    {model['about']}")
        print(styled(f"    {model['licence']} · {model['origin']}", DIM))
        if model["problem"]:
            print(styled(f"    ! {model['problem']}", YELLOW))
    for name, spent in measured.items():
        print(f"{name:<26}{spent:>9.1f} ms")
