"""The provider `ollama`, against a real HTTP server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import patience
from model_server import Fault, ModelServer
from recollect.errors import ProviderError, UserError
from recollect.models.providers import OllamaEmbedder
from recollect.settings import Embedding


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def embedder(server: ModelServer) -> Iterator[OllamaEmbedder]:
    # The variable that api_key_env names by default is set, as it is on many machines.
    made = OllamaEmbedder(embedding(server), {"OPENAI_API_KEY": "sk-openai"})
    yield made
    made.close()


def embedding(server: ModelServer, **more: Any) -> Embedding:
    given = {"provider": "ollama", "model": "nomic-embed-text", "base_url": server.url}
    return Embedding(**given | more)


def test_the_request_is_the_documented_one(server: ModelServer, embedder: OllamaEmbedder) -> None:
    assert embedder.documents(["a", "b"]).shape == (2, 64)
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/api/embed")
    assert request.body == {"model": "nomic-embed-text", "input": ["a", "b"]}


def test_openais_key_is_not_given_to_ollama(server: ModelServer, embedder: OllamaEmbedder) -> None:
    embedder.documents(["a"])
    assert "authorization" not in server.requests[0].headers


def test_prefixes_and_the_cut_are_applied(server: ModelServer) -> None:
    settings = embedding(server, query_prefix="q: ", document_prefix="d: ", dimensions=8)
    made = OllamaEmbedder(settings, {})
    assert made.queries(["a"]).shape == made.documents(["a"]).shape == (1, 8)
    assert [request.body["input"] for request in server.requests] == [["q: a"], ["d: a"]]
    made.close()


def test_warm_once_the_model_is_loaded(embedder: OllamaEmbedder) -> None:
    assert not embedder.warm()
    embedder.documents(["a"])
    assert embedder.warm()


@pytest.mark.parametrize(
    ("wanted", "loaded", "warm"),
    [
        ("nomic-embed-text", "nomic-embed-text:latest", True),
        ("nomic-embed-text:latest", "nomic-embed-text:latest", True),
        ("nomic-embed-text:v1.5", "nomic-embed-text:v1.5", True),
        ("nomic-embed-text", "nomic-embed-text:v1.5", False),
        ("nomic-embed", "nomic-embed-text:latest", False),
        ("localhost:5000/me/model", "localhost:5000/me/model:latest", True),
    ],
)
def test_a_name_without_a_tag_means_latest(
    server: ModelServer, wanted: str, loaded: str, warm: bool
) -> None:
    server.loaded = {loaded}
    made = OllamaEmbedder(embedding(server, model=wanted), {})
    assert made.warm() is warm
    made.close()


@pytest.mark.parametrize("fault", [Fault.NOT_JSON, Fault.HANG_UP])
def test_not_warm_when_the_answer_is_unusable(
    server: ModelServer, embedder: OllamaEmbedder, fault: Fault
) -> None:
    server.loaded, server.fault = {"nomic-embed-text:latest"}, fault
    assert not embedder.warm()
    assert len(server.requests) == 1


def test_not_warm_and_no_long_wait_when_the_server_is_slow(
    server: ModelServer, embedder: OllamaEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = patience.AS_SHIPPED["WARM_TIMEOUT_S"]
    assert shipped <= 0.25
    monkeypatch.setattr("recollect.models.providers.WARM_TIMEOUT_S", shipped)
    server.loaded, server.delay_s = {"nomic-embed-text:latest"}, 3600.0
    assert not embedder.warm()


def test_not_warm_when_no_server_runs(server: ModelServer, embedder: OllamaEmbedder) -> None:
    with ModelServer() as gone:
        made = OllamaEmbedder(embedding(gone), {})
    assert not made.warm()


def test_a_model_that_was_never_pulled_says_how_to_get_it(
    server: ModelServer, embedder: OllamaEmbedder
) -> None:
    server.fail_next(1, 404)
    with pytest.raises(ProviderError, match="run `ollama pull nomic-embed-text`") as caught:
        embedder.documents(["a"])
    assert not caught.value.transient


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (Fault.COUNT, "1 vectors for 2 texts"),
        (Fault.DIMENSION, "63 and of 64 dimensions"),
        (Fault.NAN, "NaN"),
        (Fault.NULL, "unexpected shape"),
        (Fault.NOT_JSON, "not JSON"),
    ],
)
def test_a_broken_answer_is_refused_at_once(
    server: ModelServer, embedder: OllamaEmbedder, fault: Fault, says: str
) -> None:
    server.fault = fault
    with pytest.raises(ProviderError, match=says) as caught:
        embedder.documents(["a", "b"])
    assert not caught.value.transient
    assert len(server.requests) == 1


def test_a_server_behind_a_login_says_how_to_give_it() -> None:
    with ModelServer(key="needed") as server:
        made = OllamaEmbedder(embedding(server), {})
        with pytest.raises(ProviderError, match=r"embedding\.base_url may hold user:password@"):
            made.documents(["a"])
        made.close()


def test_the_address_is_the_local_server_unless_told_otherwise() -> None:
    made = OllamaEmbedder(Embedding(provider="ollama", model="m"), {})
    assert "127.0.0.1:11434" in repr(made._remote)


def test_without_a_model_the_setting_is_named() -> None:
    with pytest.raises(UserError, match=r"embedding\.model"):
        OllamaEmbedder(Embedding(provider="ollama"), {})
