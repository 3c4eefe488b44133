"""Which providers there are. A provider's module is imported when it is opened, not before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from recollect.errors import UserError
from recollect.models.base import Embedder, Reranker
from recollect.settings import Embedding, Rerank


class Absent(Struct, frozen=True):
    """There is no model; `reason` is a clause that can follow "because"."""

    reason: str


def _builtin_embedder(settings: Embedding, environment: Mapping[str, str]) -> Embedder:
    from recollect.models.builtin import builtin  # noqa: PLC0415  start-up time
    from recollect.models.onnx import embedder_of  # noqa: PLC0415  start-up time: numpy

    return embedder_of(builtin("embed", settings.model), settings, "builtin")


def _builtin_reranker(settings: Rerank, environment: Mapping[str, str]) -> Reranker:
    from recollect.models.builtin import builtin  # noqa: PLC0415  start-up time
    from recollect.models.onnx import OnnxReranker  # noqa: PLC0415  start-up time: numpy

    return OnnxReranker(builtin("rerank", settings.model), "builtin")


def _onnx_embedder(settings: Embedding, environment: Mapping[str, str]) -> Embedder:
    from recollect.models.folder import ModelFolder  # noqa: PLC0415  start-up time
    from recollect.models.onnx import embedder_of  # noqa: PLC0415  start-up time: numpy

    return embedder_of(ModelFolder(_folder("embedding", settings), "embed"), settings, "onnx")


def _onnx_reranker(settings: Rerank, environment: Mapping[str, str]) -> Reranker:
    from recollect.models.folder import ModelFolder  # noqa: PLC0415  start-up time
    from recollect.models.onnx import OnnxReranker  # noqa: PLC0415  start-up time: numpy

    return OnnxReranker(ModelFolder(_folder("rerank", settings), "rerank"), "onnx")


def _folder(section: str, settings: Embedding | Rerank) -> Path:
    if not settings.model:
        raise UserError(f"{section}.model must name the folder that holds the ONNX model.")
    return Path(settings.model).expanduser()


def _openai(settings: Embedding, environment: Mapping[str, str]) -> Embedder:
    from recollect.models.openai import OpenAIEmbedder  # noqa: PLC0415  start-up time: numpy

    return OpenAIEmbedder(settings, environment)


def _ollama(settings: Embedding, environment: Mapping[str, str]) -> Embedder:
    from recollect.models.ollama import OllamaEmbedder  # noqa: PLC0415  start-up time: numpy

    return OllamaEmbedder(settings, environment)


def _http(settings: Rerank, environment: Mapping[str, str]) -> Reranker:
    from recollect.models.http import HttpReranker  # noqa: PLC0415  start-up time

    return HttpReranker(settings, environment)


def _absent(reason: str) -> Callable[[object, Mapping[str, str]], Absent]:
    return lambda settings, environment: Absent(reason)


EMBEDDERS: dict[str, Callable[[Embedding, Mapping[str, str]], Embedder | Absent]] = {
    "builtin": _builtin_embedder,
    "onnx": _onnx_embedder,
    "openai": _openai,
    "ollama": _ollama,
    "none": _absent('embedding.provider is "none"'),
}

RERANKERS: dict[str, Callable[[Rerank, Mapping[str, str]], Reranker | Absent]] = {
    "builtin": _builtin_reranker,
    "onnx": _onnx_reranker,
    "http": _http,
    "none": _absent('rerank.provider is "none"'),
}


def open_embedder(settings: Embedding, environment: Mapping[str, str]) -> Embedder | Absent:
    """The embedder that the settings name; UserError names a setting that is wrong."""
    if settings.dimensions < 0:
        raise UserError("embedding.dimensions must be 0 (all of them) or above.")
    factory = EMBEDDERS.get(settings.provider)
    if factory is None:
        raise _unknown("embedding", EMBEDDERS)
    return factory(settings, environment)


def open_reranker(settings: Rerank, environment: Mapping[str, str]) -> Reranker | Absent:
    """The reranker that the settings name; UserError names a setting that is wrong."""
    factory = RERANKERS.get(settings.provider)
    if factory is None:
        raise _unknown("rerank", RERANKERS)
    return factory(settings, environment)


def _unknown(section: str, registry: Mapping[str, object]) -> UserError:
    return UserError(f"{section}.provider must be one of: {', '.join(registry)}.")
