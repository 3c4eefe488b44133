"""Models as folders, a user's and the bundled ones: `model.onnx`, `tokenizer.json`, and
`model.json`, which says how to use it. The bundled ones are in `weights/`, and in the package for
many languages, where that is installed.

A user's folder may have no `model.json`. Then the files that sentence-transformers writes beside a
model are read instead, and the usual values are used for what they do not say.
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
from recollect.models.base import broken
from recollect.models.weights import TOKENIZER, WEIGHTS
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
    """How a model is to be used: its own pooling, prefixes and window."""

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
            raise broken(f"There is no model folder {path}.")
        files = (path / name for name in MODEL_FILES)
        self.model = next((file for file in files if file.is_file()), None)
        self.tokenizer = path / TOKENIZER
        if self.model is None:
            raise broken(f"The model folder {path} has no {MODEL_FILES[0]}.")
        if not self.tokenizer.is_file():
            raise broken(f"The model folder {path} has no {TOKENIZER}.")
        self.declared = _declared(path, kind)

    def read(self, file: Path) -> bytes:
        """A file's bytes; ProviderError where their SHA-256 is not the declared one."""
        try:
            content = file.read_bytes()
        except OSError as error:
            raise broken(f"{file} cannot be read: {error.strerror}.") from error
        wanted = self.declared.sha256.get(file.name)
        if wanted is not None and sha256_hex(content) != wanted:
            raise broken(f"{file} is damaged: its SHA-256 is not the declared one.")
        return content

    def checked_model(self) -> Path:
        """The model's file, checked. Who loads it from there needs no copy of it in memory."""
        assert self.model is not None
        self.read(self.model)
        return self.model

    def model_size(self) -> int:
        assert self.model is not None
        return self.model.stat().st_size

    def fingerprint(self) -> str:
        """A hash of the file's size, its two ends and how it is used: it tells models of the same
        name apart. Reading the whole file would take longer than a search."""
        assert self.model is not None
        size = self.model_size()
        with self.model.open("rb") as file:
            ends = [file.read(ENDS), (file.seek(max(0, size - ENDS)), file.read())[1]]
        used = msgspec.json.encode(self.declared)
        return sha256_hex(b"".join([str(size).encode(), *ends, used]))

    def verify(self) -> str | None:
        """What is wrong with the files, or None."""
        try:
            self.checked_model()
            self.read(self.tokenizer)
        except ProviderError as error:
            return str(error)
        return None

    def size(self) -> int:
        return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())


def _declared(path: Path, kind: Literal["embed", "rerank"]) -> Declared:
    written = _json(path / "model.json")
    if written is None:
        written = _sentence_transformers(path)
    try:
        declared = msgspec.convert({"kind": kind, "name": path.name} | written, Declared)
    except msgspec.ValidationError as error:
        raise broken(f"{path}/model.json is not valid: {error}.") from error
    if declared.kind != kind:
        wanted = {"embed": "an embedding model", "rerank": "a reranker"}
        raise broken(f"{path} holds {wanted[declared.kind]}, not {wanted[kind]}.")
    return declared


def _sentence_transformers(path: Path) -> dict[str, Any]:
    """What sentence-transformers says of pooling and length, and the tokenizer of padding."""
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
        raise broken(f"{file} cannot be read as JSON: {error}.") from error


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
    found = [_declaration(folder / "model.json") for folder in _places().values()]
    yield from sorted(found, key=lambda declared: (not declared.default, declared.name))


def _declaration(file: Path) -> Declared:
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
