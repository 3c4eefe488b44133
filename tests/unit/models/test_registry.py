"""Providers of models, the errors of wrong settings, and how models are measured."""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace
from typing import Any, get_args

import pytest

from recollect.errors import UserError
from recollect.models.active import (
    EMBEDDERS,
    RERANKERS,
    Absent,
    measure_models,
    open_embedder,
    open_reranker,
)
from recollect.models.onnx import OnnxEmbedder, OnnxReranker
from recollect.models.providers import HttpReranker, OllamaEmbedder, OpenAIEmbedder
from recollect.settings import Embedding, EmbeddingProvider, Rerank, RerankProvider


def test_every_provider_the_settings_allow_is_registered() -> None:
    assert set(EMBEDDERS) == set(get_args(EmbeddingProvider))
    assert set(RERANKERS) == set(get_args(RerankProvider))


def test_remote_providers_open_without_a_request() -> None:
    """The addresses lead nowhere, so a request would fail."""
    openai = Embedding(provider="openai", model="m", base_url="http://127.0.0.1:9/v1")
    ollama = Embedding(provider="ollama", model="m", base_url="http://127.0.0.1:9")
    http = Rerank(provider="http", base_url="http://127.0.0.1:9")
    assert isinstance(open_embedder(openai, {}), OpenAIEmbedder)
    assert isinstance(open_embedder(ollama, {}), OllamaEmbedder)
    assert isinstance(open_reranker(http, {}), HttpReranker)


def test_none_is_absent_because_the_settings_say_so() -> None:
    assert open_embedder(Embedding(provider="none"), {}) == Absent('embedding.provider is "none"')
    assert open_reranker(Rerank(provider="none"), {}) == Absent('rerank.provider is "none"')


def test_without_settings_the_models_in_the_box_are_opened() -> None:
    assert isinstance(open_embedder(Embedding(), {}), OnnxEmbedder)
    assert isinstance(open_reranker(Rerank(), {}), OnnxReranker)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"provider": "openai"}, "embedding.model"),
        ({"provider": "ollama"}, "embedding.model"),
        ({"provider": "onnx"}, "embedding.model must name the folder"),
        ({"provider": "builtin", "model": "huge"}, "embedding.model cannot be 'huge'"),
        ({"provider": "openai", "model": "m", "base_url": "ftp://host"}, "embedding.base_url"),
        ({"provider": "openai", "model": "m", "base_url": "host:80/v1"}, "embedding.base_url"),
        ({"provider": "ollama", "model": "m", "base_url": "http://"}, "embedding.base_url"),
        ({"provider": "ollama", "model": "m", "base_url": "http://h:99999"}, "embedding.base_url"),
        ({"provider": "openai", "model": "m", "timeout_s": 0.0}, "embedding.timeout_s"),
        ({"provider": "openai", "model": "m", "timeout_s": float("nan")}, "embedding.timeout_s"),
        ({"provider": "openai", "model": "m", "dimensions": -1}, "embedding.dimensions"),
        ({"provider": "gpt"}, "openai, ollama"),
    ],
)
def test_a_wrong_embedding_setting_is_named(settings: dict[str, Any], named: str) -> None:
    with pytest.raises(UserError) as caught:
        open_embedder(Embedding(**settings), {})
    assert named in str(caught.value)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"provider": "http"}, "rerank.base_url"),
        ({"provider": "onnx"}, "rerank.model must name the folder"),
        ({"provider": "builtin", "model": "huge"}, "rerank.model cannot be 'huge'"),
        ({"provider": "http", "base_url": "localhost:8080"}, "rerank.base_url"),
        ({"provider": "http", "base_url": "http://h", "timeout_s": -1.0}, "rerank.timeout_s"),
        ({"provider": "gpt"}, "builtin, onnx, http, none"),
    ],
)
def test_a_wrong_rerank_setting_is_named(settings: dict[str, Any], named: str) -> None:
    with pytest.raises(UserError) as caught:
        open_reranker(Rerank(**settings), {})
    assert named in str(caught.value)


def test_a_wrong_address_is_not_repeated_for_it_may_hold_a_password() -> None:
    settings = Embedding(provider="openai", model="m", base_url="me:hunter2@host")
    with pytest.raises(UserError) as caught:
        open_embedder(settings, {})
    assert "hunter2" not in str(caught.value)


def test_an_unusable_key_is_refused_by_its_variables_name() -> None:
    settings = Embedding(provider="openai", model="m")
    with pytest.raises(UserError, match=r"\$OPENAI_API_KEY") as caught:
        open_embedder(settings, {"OPENAI_API_KEY": "sk-first\nsk-second"})
    assert "sk-first" not in str(caught.value)


def test_nothing_heavy_is_imported_until_a_request_is_made() -> None:
    """Each of these takes longer to import than a keyword search takes."""
    script = """
import sys
from recollect.models.active import open_embedder, open_reranker
from recollect.settings import Embedding, Rerank
open_embedder(Embedding(provider="none"), {})
open_reranker(Rerank(provider="http", base_url="http://127.0.0.1:9"), {})
assert not {"httpx2", "numpy"} & sys.modules.keys(), "too early"
open_embedder(Embedding(provider="ollama", model="m"), {})
open_embedder(Embedding(), {})
open_reranker(Rerank(), {})
early = {"httpx2", "onnxruntime", "tokenizers"} & sys.modules.keys()
assert not early, early
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_no_text_is_read_twice() -> None:
    read: list[str] = []
    queries: list[str] = []

    def scores(query: str, documents: list[str]) -> None:
        queries.append(query)
        read.extend(documents)

    embedder = SimpleNamespace(queries=queries.extend, documents=read.extend)
    models: Any = SimpleNamespace(
        embedder=lambda: embedder, reranker=lambda: SimpleNamespace(scores=scores)
    )
    for _ in range(2):
        assert "rerank 20 memories" in measure_models(models)
    assert len(read) == len(set(read)) == 2 * 41
    assert len(queries) == len(set(queries)) == 2 * 4
