"""Bundled models: real weights, in `weights/`, one folder each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from recollect.errors import ProviderError, UserError
from recollect.models.folder import Declared, ModelFolder

WEIGHTS = Path(__file__).with_name("weights")


def builtin(kind: Literal["embed", "rerank"], name: str) -> ModelFolder:
    """The built-in model of that kind and name; without a name, the default one."""
    known = [declared.name for declared in declarations() if declared.kind == kind]
    if known and name and name not in known:
        section = "embedding" if kind == "embed" else "rerank"
        raise UserError(f"{section}.model cannot be {name!r}; allowed: {', '.join(known)}.")
    if not known:
        raise ProviderError(
            f"{WEIGHTS} has no built-in model to {kind}; install Recollect again.", transient=False
        )
    return ModelFolder(WEIGHTS / (name or known[0]), kind)


def declarations() -> Iterator[Declared]:
    """The `model.json` of each built-in model; the default of its kind comes first."""
    found = [_declared(file) for file in sorted(WEIGHTS.glob("*/model.json"))]
    yield from sorted(found, key=lambda declared: (not declared.default, declared.name))


def _declared(file: Path) -> Declared:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Declared)
    except (OSError, msgspec.DecodeError) as error:
        raise ProviderError(f"{file} cannot be read: {error}.", transient=False) from error


def folder_of(declared: Declared) -> ModelFolder:
    return ModelFolder(WEIGHTS / declared.name, declared.kind)
