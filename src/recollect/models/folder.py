"""Model folders, a user's and the bundled ones: `model.onnx`, `tokenizer.json`, and `model.json`,
which says how to use it. The bundled ones are in `weights/`, and in the package for many languages
if that is installed.

A user's folder may have no `model.json`. Then the files of sentence-transformers are read instead,
with defaults for what they do not say.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, structs

from recollect.errors import ProviderError, UserError
from recollect.hashing import sha256_hex
from recollect.models.base import TOKENIZER, WEIGHTS, model_error
from recollect.settings import Embedding

Pooling = Literal["cls", "mean"]
MODEL_FILES = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
USUAL_LENGTH = 512
ENDS = 65_536
# Room for the special tokens of a pair, and for some of either text.
SHORTEST = 16
# A distribution of its own, since its model weighs as much as all the others.
MULTILINGUAL = "multilingual"
MULTILINGUAL_PACKAGE = "recollect_multilingual"


class Declared(Struct, frozen=True, kw_only=True):
    """The content of `model.json`."""

    kind: Literal["embed", "rerank"]
    name: str
    pooling: Pooling = "mean"
    query_prefix: str = ""
    document_prefix: str = ""
    max_length: Annotated[int, Meta(ge=SHORTEST)] = USUAL_LENGTH
    dimensions: int = 0
    licence: str = ""
    origin: str = ""
    about: str = ""
    default: bool = False
    optimised: bool = False
    # Of a model that gives token vectors: the deviation of each of their dimensions.
    token_scales: tuple[float, ...] = ()
    sha256: dict[str, str] = {}


class ModelFolder:
    """The files of one model, checked before they are used."""

    def __init__(self, path: Path, kind: Literal["embed", "rerank"]) -> None:
        self.path = path
        if not path.is_dir():
            raise model_error(f"There is no model folder {path}.")
        files = (path / name for name in MODEL_FILES)
        self.model = next((file for file in files if file.is_file()), None)
        self.tokenizer = path / TOKENIZER
        if self.model is None:
            raise model_error(f"The model folder {path} has no {MODEL_FILES[0]}.")
        if not self.tokenizer.is_file():
            raise model_error(f"The model folder {path} has no {TOKENIZER}.")
        self.declared = _read_declaration(path, kind)

    def read(self, file: Path) -> bytes:
        """Return a file's bytes; ProviderError if their SHA-256 is not the declared one."""
        try:
            content = file.read_bytes()
        except OSError as error:
            raise model_error(f"{file} cannot be read: {error.strerror}.") from error
        wanted = self.declared.sha256.get(file.name)
        if wanted is not None and sha256_hex(content) != wanted:
            raise model_error(f"{file} is damaged: its SHA-256 is not the declared one.")
        return content

    def checked_model(self) -> Path:
        """Return the model's checked file, which can be loaded without a copy in memory."""
        assert self.model is not None
        self.read(self.model)
        return self.model

    def model_size(self) -> int:
        assert self.model is not None
        return self.model.stat().st_size

    def fingerprint(self) -> str:
        """Return a hash that tells models of the same name apart: of the file's size, its two ends
        and its declaration. Reading the whole file would take longer than a search."""
        assert self.model is not None
        size = self.model_size()
        with self.model.open("rb") as file:
            ends = [file.read(ENDS), (file.seek(max(0, size - ENDS)), file.read())[1]]
        used = msgspec.json.encode(self.declared)
        return sha256_hex(b"".join([str(size).encode(), *ends, used]))

    def verify(self) -> str | None:
        """Return the first fault of the files, or None."""
        try:
            self.checked_model()
            self.read(self.tokenizer)
        except ProviderError as error:
            return str(error)
        return None

    def size(self) -> int:
        return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())


def _read_declaration(path: Path, kind: Literal["embed", "rerank"]) -> Declared:
    written = _json(path / "model.json")
    if written is None:
        written = _sentence_transformers(path)
    try:
        declared = msgspec.convert({"kind": kind, "name": path.name} | written, Declared)
    except msgspec.ValidationError as error:
        raise model_error(f"{path}/model.json is not valid: {error}.") from error
    if declared.kind != kind:
        wanted = {"embed": "an embedding model", "rerank": "a reranker"}
        raise model_error(f"{path} holds {wanted[declared.kind]}, not {wanted[kind]}.")
    return declared


def _sentence_transformers(path: Path) -> dict[str, Any]:
    """Return pooling and length from the files of sentence-transformers."""
    pooling = _json(path / "1_Pooling" / "config.json") or {}
    length = _json(path / "sentence_bert_config.json") or {}
    config = _json(path / "config.json") or {}
    return {
        "pooling": "cls" if pooling.get("pooling_mode_cls_token") else "mean",
        "max_length": length.get("max_seq_length") or config.get("max_position_embeddings")
        or USUAL_LENGTH,
    }  # fmt: skip


def _json(file: Path) -> dict[str, Any] | None:
    if not file.is_file():
        return None
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, Any])
    except (OSError, msgspec.DecodeError) as error:
        raise model_error(f"{file} cannot be read as JSON: {error}.") from error


def builtin(kind: Literal["embed", "rerank"], name: str) -> ModelFolder:
    """Return the built-in model of this kind and name, by default the first."""
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
    """Yield the `model.json` of each built-in model, the default of its kind first."""
    models = [_declaration(folder / "model.json") for folder in _places().values()]
    yield from sorted(models, key=lambda declared: (not declared.default, declared.name))


def _declaration(file: Path) -> Declared:
    try:
        return msgspec.json.decode(file.read_bytes(), type=Declared)
    except (OSError, msgspec.DecodeError) as error:
        raise ProviderError(f"{file} cannot be read: {error}.", transient=False) from error


def embedding_models() -> list[str]:
    """Return the names of the bundled embedding models, the default first."""
    return [declared.name for declared in declarations() if declared.kind == "embed"]


def installed_models(settings: Embedding) -> dict[str, Embedding]:
    """Return the settings of each available embedding model by name: the bundled ones, and the one
    from the settings. Prefixes and dimensions apply only to the model that they were set for."""
    rest = Embedding(timeout_s=settings.timeout_s, providers=settings.providers)
    models = {name: structs.replace(rest, model=name) for name in embedding_models()}
    if settings.provider != "none":
        used = settings.model or next(iter(models))
        models[used] = structs.replace(settings, model=used)
    return models


def languages_of(name: str) -> str:
    """Return the languages of a bundled model in words."""
    return "some fifty languages" if name == MULTILINGUAL else "English"


def folder_of(declared: Declared) -> ModelFolder:
    return ModelFolder(_places()[declared.name], declared.kind)


def _places() -> dict[str, Path]:
    """Return the folder of each installed model by name."""
    spec = find_spec(MULTILINGUAL_PACKAGE)
    roots = [WEIGHTS, *map(Path, (spec and spec.submodule_search_locations) or ())]
    files = [file for root in roots for file in sorted(root.glob("*/model.json"))]
    return {file.parent.name: file.parent for file in files}
