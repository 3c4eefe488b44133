"""The bundled models in tests: each is loaded once by a process, if it has to read anything there:
in all processes of a run, and in later runs, none reads a text or a pair twice, since what it says
of one does not depend on others.

Tokenizing, pooling and all that follows are done each time; only the arithmetic is left out.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import threading
from collections.abc import Callable
from functools import cached_property
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tokenizers import Encoding

from recollect.models import onnx
from recollect.models.base import WEIGHTS
from recollect.models.folder import declarations, folder_of
from recollect.models.onnx import OnnxModel

if TYPE_CHECKING:  # a forked command has no use for pytest
    import pytest

FOLDER = "TESTS_MODEL_OUTPUTS"  # of the environment: where they are
BOTH = frozenset({"embed", "rerank"})
# Where the embedder itself is tested, it reads whatever it is given.
EMBEDDER_TESTED = {"contract"}

# The methods that `share` replaces, as they are.
UNSHARED = {name: OnnxModel.__dict__[name] for name in ("session", "tokenizer", "_output")}

remembered = BOTH  # the kinds of models whose outputs are kept
folder = Path()
_loaded: dict[Path, Any] = {}  # sessions and tokenizers
_outputs: dict[str, Any] = {}
_read = OnnxModel._output


def make_folder(cache: pytest.Cache) -> bool:
    """Whether this process has chosen the folder, and not the one that started it: what pytest
    keeps for the next run, for these models, this code and this version of what computes them."""
    if FOLDER in os.environ:
        return False
    computed = [Path(onnx.__file__).read_text(encoding="utf-8"), version("onnxruntime")]
    computed += [folder_of(declared).fingerprint() for declared in declarations()]
    every = cache.mkdir("bundled-models")
    chosen = every / blake2b("\n".join(computed).encode(), digest_size=16).hexdigest()
    for former in every.iterdir():
        if former != chosen:
            shutil.rmtree(former, ignore_errors=True)
    chosen.mkdir(exist_ok=True)
    os.environ[FOLDER] = str(chosen)
    return True


def forget_folder() -> None:
    del os.environ[FOLDER]


def share() -> None:
    """From now on, in this process: fixtures of any scope may use the models."""
    global folder
    folder = Path(os.environ[FOLDER])
    for name in ("session", "tokenizer"):
        shared = cached_property(_loaded_once(name, UNSHARED[name].func))
        shared.__set_name__(OnnxModel, name)
        setattr(OnnxModel, name, shared)
    OnnxModel._output = _output  # type: ignore[assignment, method-assign]
    for model in map(OnnxModel, map(folder_of, declarations())):
        if model.folder.path.parent == WEIGHTS:  # here, not in each fork of this process
            model.tokenizer  # noqa: B018


def remember_for(test: Path) -> None:
    global remembered
    tested = EMBEDDER_TESTED.intersection(test.parts)
    remembered = BOTH - {"embed"} if tested else BOTH


def _loaded_once(name: str, load: Callable[[OnnxModel], Any]) -> Callable[[OnnxModel], Any]:
    def loaded(model: OnnxModel) -> Any:
        if model.folder.path.parent != WEIGHTS:
            return load(model)
        place = model.folder.path / name
        if place not in _loaded:
            _loaded[place] = _Waiting(model, load) if name == "session" else load(model)
        return _loaded[place]

    return loaded


class _Waiting:
    """A session that is loaded when it first has something to read that nobody has read before."""

    def __init__(self, model: OnnxModel, load: Callable[[OnnxModel], Any]) -> None:
        self._model, self._load = model, load
        self._guard = threading.Lock()

    def __getattr__(self, name: str) -> Any:
        with self._guard:
            if "_session" not in vars(self):
                self._session = self._load(self._model)
        return getattr(self._session, name)


def _output(model: OnnxModel, encoding: Encoding) -> Any:
    if model.folder.path.parent != WEIGHTS or model.declared.kind not in remembered:
        return _read(model, encoding)
    tokens = np.array([encoding.ids, encoding.type_ids], np.int64).tobytes()
    name = f"{model.declared.name}-{blake2b(tokens, digest_size=16).hexdigest()}"
    if name not in _outputs:
        _outputs[name] = _stored(folder / name, model, encoding)
    return _outputs[name]


def _stored(file: Path, model: OnnxModel, encoding: Encoding) -> Any:
    if file.exists():
        return _from_file(file)
    # Several processes begin with the same memories: one reads a text, and the others wait for it.
    with (folder / f"lock-{file.name[-1]}").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if file.exists():
            return _from_file(file)
        whole, *others = _read(model, encoding)
        # Of a text's tokens the bundled embedder takes the first alone; all would be too many.
        first = whole.ndim == 3 and model.declared.pooling == "cls"
        kept = [whole[:, :1].copy() if first else whole, *others]
        written = file.with_name(f"{file.name}.{os.getpid()}.{threading.get_ident()}")
        with written.open("wb") as stream:
            np.savez(stream, *kept)
        written.replace(file)
    return kept


def _from_file(file: Path) -> Any:
    with np.load(file) as kept:
        return [kept[name] for name in kept.files]
