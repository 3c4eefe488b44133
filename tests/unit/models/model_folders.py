"""Copies of the built-in models to damage: the large files are links until one is replaced."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from recollect.models.folder import builtin


def copy_model(
    into: Path, kind: Literal["embed", "rerank"] = "embed", *, declared: bool = True
) -> Path:
    """The built-in model of that kind as a folder of its own, with `model.json` or without."""
    held = builtin(kind, "")
    folder = into / held.declared.name
    folder.mkdir(parents=True)
    for name in ("model.onnx", "tokenizer.json"):
        (folder / name).symlink_to(held.path / name)
    if declared:
        (folder / "model.json").write_bytes((held.path / "model.json").read_bytes())
    return folder


def replace(file: Path, content: bytes) -> None:
    """Put this in the file's place; what it linked to stays as it is."""
    file.unlink()
    file.write_bytes(content)
