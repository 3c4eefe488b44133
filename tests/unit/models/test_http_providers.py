"""The providers `openai`, `ollama` and `http`, against a real HTTP server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import patience
from model_server import Fault, ModelServer
from recollect.errors import ProviderError
from recollect.models.providers import OPENAI_URL, HttpReranker, OllamaEmbedder, OpenAIEmbedder
from recollect.settings import Embedding, Rerank

KEY = "sk-very-secret"
TEXT = "a private thought"
PULLED = "toy:latest"
EMBEDDERS = ("openai", "ollama")
ALL = (*EMBEDDERS, "http")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


class Opened:
    """Opens providers on the server and closes them when the test is over."""

    def __init__(self, server: ModelServer) -> None:
        self.server = server
        self.made: list[Any] = []

    def __call__(
        self, provider: str = "openai", environment: dict[str, str] | None = None, **more: Any
    ) -> Any:
        url = self.server.openai_url if provider == "openai" else self.server.url
        settings = {"provider": provider, "model": "toy", "base_url": url} | more
        if provider == "http":
            key: dict[str, Any] = {"api_key_env": "RERANK_KEY"}
            self.made.append(HttpReranker(Rerank(**key | settings), environment or {}))
        else:
            kind = OpenAIEmbedder if provider == "openai" else OllamaEmbedder
            self.made.append(kind(Embedding(**settings), environment or {}))
        return self.made[-1]


@pytest.fixture
def opened(server: ModelServer) -> Iterator[Opened]:
    factory = Opened(server)
    yield factory
    for model in factory.made:
        model.close()


def ask(model: Any, *texts: str) -> Any:
    return model.scores("a", texts) if isinstance(model, HttpReranker) else model.documents(texts)


def failure(model: Any) -> str:
    """The message of a lasting failure: it names the provider, and neither text nor key."""
    with pytest.raises(ProviderError) as caught:
        ask(model, "another", TEXT)
    assert not caught.value.transient
    message = str(caught.value)
    kind = "rerank provider http" if isinstance(model, HttpReranker) else "embedding provider "
    assert message.startswith(f"The {kind}")
    assert TEXT not in message
    assert KEY not in message
    return message


KEYS = {"OPENAI_API_KEY": KEY, "RERANK_KEY": KEY}


@pytest.mark.parametrize(
    ("provider", "path", "body", "key"),
    [
        ("openai", "/v1/embeddings", {"input": ["a", "b"], "encoding_format": "float"}, KEY),
        ("ollama", "/api/embed", {"input": ["a", "b"]}, ""),  # the key of OpenAI is not for Ollama
        ("http", "/rerank", {"query": "a", "documents": ["a", "b"]}, KEY),
    ],
)
def test_the_request_is_the_documented_one(
    server: ModelServer, opened: Opened, provider: str, path: str, body: dict[str, Any], key: str
) -> None:
    ask(opened(provider, KEYS), "a", "b")
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", path)
    assert request.body == {"model": "toy"} | body
    assert request.headers["content-type"] == "application/json"
    assert request.headers.get("authorization", "") == (f"Bearer {key}" if key else "")


def test_no_key_means_no_authorization_header(server: ModelServer, opened: Opened) -> None:
    ask(opened("openai", {"OTHER": KEY}), "a")
    ask(opened("openai", KEYS, api_key_env=""), "a")
    ask(opened("http", KEYS, api_key_env=""), "a")
    assert ["authorization" in request.headers for request in server.requests] == [False] * 3


def test_the_key_is_read_from_the_named_variable(server: ModelServer, opened: Opened) -> None:
    server.key = KEY
    environment = {"MY_KEY": f"{KEY}\n", "OPENAI_API_KEY": "another"}
    assert ask(opened("openai", environment, api_key_env="MY_KEY"), "a").shape == (1, 64)


@pytest.mark.parametrize("provider", EMBEDDERS)
def test_prefixes_are_sent_and_the_cut_is_made_here(
    server: ModelServer, opened: Opened, provider: str
) -> None:
    made = opened(provider, query_prefix="q: ", document_prefix="d: ", dimensions=8)
    for rows in (made.queries(["a"]), made.documents(["a"])):
        assert rows.shape == (1, 8)
        assert np.linalg.norm(rows) == pytest.approx(1.0, abs=1e-6)
    assert [request.body["input"] for request in server.requests] == [["q: a"], ["d: a"]]
    assert "dimensions" not in server.requests[0].body


def test_texts_travel_at_most_100_a_request(server: ModelServer, opened: Opened) -> None:
    assert ask(opened(), *(f"text {n}" for n in range(201))).shape == (201, 64)
    assert [len(request.body["input"]) for request in server.requests] == [100, 100, 1]


def test_no_texts_make_no_request(server: ModelServer, opened: Opened) -> None:
    assert opened("openai").queries([]).shape[0] == 0
    assert opened("http").scores("a", []) == []
    assert server.requests == []


def test_scores_come_in_the_documents_order_though_the_server_sorts_them(opened: Opened) -> None:
    texts = ["tea", "the database is slow", "coffee"]
    assert opened("http").scores("slow database", texts) == [0.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("provider", "fault", "says"),
    [
        *((name, Fault.COUNT, "1 results for 2 texts") for name in ("openai", "http")),
        ("ollama", Fault.COUNT, "1 vectors for 2 texts"),
        *((name, Fault.DUPLICATE, "numbered them wrongly") for name in ("openai", "http")),
        *((name, Fault.DIMENSION, "63 and of 64 dimensions") for name in EMBEDDERS),
        *((name, Fault.NAN, "NaN") for name in EMBEDDERS),
        ("http", Fault.NAN, "not a number in 0…1"),
        ("http", Fault.RANGE, "not a number in 0…1"),
        *((name, Fault.NULL, "unexpected shape") for name in ALL),
        *((name, Fault.NOT_JSON, "not JSON") for name in ALL),
    ],
)
def test_a_broken_answer_is_refused_at_once(
    server: ModelServer, opened: Opened, provider: str, fault: Fault, says: str
) -> None:
    server.fault = fault
    assert says in failure(opened(provider))
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("provider", "environment", "more", "says"),
    [
        ("openai", KEYS, {}, "check the key in $OPENAI_API_KEY"),
        ("openai", {}, {}, "$OPENAI_API_KEY, which is not set"),
        ("http", KEYS, {}, "check the key in $RERANK_KEY"),
        ("http", {}, {"api_key_env": ""}, "rerank.api_key_env"),
        ("ollama", {}, {}, "embedding.base_url may hold user:password@"),
    ],
)
def test_a_refused_key_says_where_it_is_set_and_is_not_tried_again(
    server: ModelServer,
    opened: Opened,
    provider: str,
    environment: dict[str, str],
    more: dict[str, str],
    says: str,
) -> None:
    server.key = "another"
    message = failure(opened(provider, environment, **more))
    assert says in message
    assert "401" in message
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("provider", "status", "says"),
    [
        ("openai", 400, "too long"),
        ("openai", 404, "embedding.model"),
        ("ollama", 404, "run `ollama pull toy`"),
    ],
)
def test_a_refused_request_says_what_to_do(
    server: ModelServer, opened: Opened, provider: str, status: int, says: str
) -> None:
    server.fail_next(1, status)
    assert says in failure(opened(provider, KEYS))


def test_an_answer_without_indexes_is_taken_in_its_order(
    server: ModelServer, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_indexes(items: list[Any]) -> list[Any]:
        return [{"embedding": item["embedding"]} for item in items]

    embedder = opened()
    numbered = embedder.documents(["one", "two"])
    monkeypatch.setattr(server, "_misnumbered", without_indexes)
    assert np.array_equal(embedder.documents(["one", "two"]), numbered)


def test_fewer_dimensions_than_asked_for_name_the_setting(opened: Opened) -> None:
    assert "embedding.dimensions" in failure(opened(dimensions=65))


def test_the_address_is_the_usual_one_unless_told_otherwise(opened: Opened) -> None:
    assert OPENAI_URL == "https://api.openai.com/v1"
    assert "api.openai.com" in repr(opened("openai", base_url="")._remote)
    assert "127.0.0.1:11434" in repr(opened("ollama", base_url="")._remote)


def test_the_identity_of_a_reranker_names_its_model(opened: Opened) -> None:
    assert opened("http").identity == "http:toy"


@pytest.mark.parametrize("provider", ["openai", "http"])
def test_the_key_is_in_no_repr(opened: Opened, provider: str) -> None:
    model = opened(provider, KEYS)
    ask(model, "a")
    assert KEY not in repr([model, *vars(model).values(), *vars(model._remote).values()])


# Is the model loaded?


def test_a_service_counts_as_warm_and_remote(opened: Opened) -> None:
    assert opened("openai").warm()
    assert not opened("openai").local


def test_ollama_is_warm_once_the_model_is_loaded(opened: Opened) -> None:
    embedder = opened("ollama")
    assert not embedder.warm()
    embedder.documents(["a"])
    assert embedder.warm()


@pytest.mark.parametrize(
    ("wanted", "loaded", "warm"),
    [
        ("toy", "toy:latest", True),
        ("toy:latest", "toy:latest", True),
        ("toy:v1.5", "toy:v1.5", True),
        ("toy", "toy:v1.5", False),
        ("to", "toy:latest", False),
        ("localhost:5000/me/model", "localhost:5000/me/model:latest", True),
    ],
)
def test_a_name_without_a_tag_means_latest(
    server: ModelServer, opened: Opened, wanted: str, loaded: str, warm: bool
) -> None:
    server.loaded = {loaded}
    assert opened("ollama", model=wanted).warm() is warm


@pytest.mark.parametrize("fault", [Fault.NOT_JSON, Fault.HANG_UP])
def test_ollama_is_not_warm_when_its_answer_is_unusable(
    server: ModelServer, opened: Opened, fault: Fault
) -> None:
    server.loaded, server.fault = {PULLED}, fault
    assert not opened("ollama").warm()
    assert len(server.requests) == 1


def test_ollama_is_not_warm_and_makes_nobody_wait_when_it_is_slow(
    server: ModelServer, opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = patience.AS_SHIPPED["WARM_TIMEOUT_S"]
    assert shipped <= 0.25
    monkeypatch.setattr("recollect.models.providers.WARM_TIMEOUT_S", shipped)
    server.loaded, server.delay_s = {PULLED}, 3600.0
    assert not opened("ollama").warm()


def test_ollama_is_not_warm_when_no_server_runs(opened: Opened) -> None:
    with ModelServer() as gone:
        url = gone.url
    assert not opened("ollama", base_url=url).warm()
