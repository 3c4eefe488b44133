"""The models in the box: real weights, in `weights/`, one folder each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec

from recollect.errors import UserError
from recollect.models.folder import Declared, ModelFolder

WEIGHTS = Path(__file__).with_name("weights")


def builtin(kind: Literal["embed", "rerank"], name: str) -> ModelFolder:
    """The built-in model of that kind and name; without a name, the default one."""
    known = [declared.name for declared in declarations() if declared.kind == kind]
    if name and name not in known:
        section = "embedding" if kind == "embed" else "rerank"
        raise UserError(f"{section}.model cannot be {name!r}; built in are: {', '.join(known)}.")
    return ModelFolder(WEIGHTS / (name or known[0]), kind)


def declarations() -> Iterator[Declared]:
    """What each built-in model says of itself; the default of its kind comes first."""
    files = sorted(WEIGHTS.glob("*/model.json"))
    found = [msgspec.json.decode(file.read_bytes(), type=Declared) for file in files]
    yield from sorted(found, key=lambda declared: (not declared.default, declared.name))


def folder_of(declared: Declared) -> ModelFolder:
    return ModelFolder(WEIGHTS / declared.name, declared.kind)
