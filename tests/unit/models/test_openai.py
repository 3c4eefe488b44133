"""The provider `openai`, against a real HTTP server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from model_server import Fault, ModelServer
from recollect.errors import ProviderError, UserError
from recollect.models.providers import OPENAI_URL, OpenAIEmbedder
from recollect.settings import Embedding

KEY = "sk-very-secret"
TEXT = "a private thought"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


class Opened:
    """Opens embedders on the server and closes them when the test is over."""

    def __init__(self, server: ModelServer) -> None:
        self.server = server
        self.made: list[OpenAIEmbedder] = []

    def __call__(
        self, environment: dict[str, str] | None = None, **settings: Any
    ) -> OpenAIEmbedder:
        given = {"provider": "openai", "model": "toy", "base_url": self.server.openai_url}
        self.made.append(OpenAIEmbedder(Embedding(**given | settings), environment or {}))
        return self.made[-1]


@pytest.fixture
def opened(server: ModelServer) -> Iterator[Opened]:
    factory = Opened(server)
    yield factory
    for embedder in factory.made:
        embedder.close()


def failure(embedder: OpenAIEmbedder) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        embedder.documents(["another", TEXT])
    message = str(caught.value)
    assert message.startswith("The embedding provider openai")
    assert TEXT not in message
    assert KEY not in message
    return caught.value


def test_the_request_is_the_documented_one(server: ModelServer, opened: Opened) -> None:
    opened({"OPENAI_API_KEY": KEY}).documents(["a", "b"])
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/v1/embeddings")
    assert request.body == {"model": "toy", "input": ["a", "b"], "encoding_format": "float"}
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["content-type"] == "application/json"


def test_no_key_means_no_authorization_header(server: ModelServer, opened: Opened) -> None:
    opened({"OTHER": KEY}).documents(["a"])
    opened({"OPENAI_API_KEY": KEY}, api_key_env="").documents(["a"])
    assert ["authorization" in request.headers for request in server.requests] == [False, False]


def test_the_key_is_read_from_the_variable_the_settings_name(
    server: ModelServer, opened: Opened
) -> None:
    server.key = KEY
    environment = {"MY_KEY": f"{KEY}\n", "OPENAI_API_KEY": "another"}
    assert opened(environment, api_key_env="MY_KEY").documents(["a"]).shape == (1, 64)


def test_queries_and_documents_carry_their_own_prefix(server: ModelServer, opened: Opened) -> None:
    embedder = opened(query_prefix="search_query: ", document_prefix="search_document: ")
    embedder.queries(["a"])
    embedder.documents(["a"])
    sent = [request.body["input"] for request in server.requests]
    assert sent == [["search_query: a"], ["search_document: a"]]


def test_texts_travel_at_most_100_a_request(server: ModelServer, opened: Opened) -> None:
    assert opened().documents([f"text {n}" for n in range(201)]).shape == (201, 64)
    assert [len(request.body["input"]) for request in server.requests] == [100, 100, 1]


def test_the_cut_is_made_here_and_not_asked_of_the_server(
    server: ModelServer, opened: Opened
) -> None:
    rows = opened(dimensions=16).documents(["database tuning"])
    assert rows.shape == (1, 16)
    assert np.linalg.norm(rows) == pytest.approx(1.0, abs=1e-6)
    assert "dimensions" not in server.requests[0].body


def test_no_texts_make_no_request(server: ModelServer, opened: Opened) -> None:
    assert opened().queries([]).shape[0] == 0
    assert server.requests == []


def test_meaning_without_a_shared_word_is_near(opened: Opened) -> None:
    embedder = opened()
    near, far = embedder.documents(["performance tuning guide", "tea in the morning"])
    (query,) = embedder.queries(["slow"])
    assert query @ near > 0.5 > query @ far


def test_a_refused_key_names_its_variable_and_is_not_tried_again(
    server: ModelServer, opened: Opened
) -> None:
    server.key = "another"
    error = failure(opened({"OPENAI_API_KEY": KEY}))
    assert not error.transient
    assert "401" in str(error)
    assert "check the key in $OPENAI_API_KEY" in str(error)
    assert len(server.requests) == 1


def test_a_missing_key_is_asked_for_by_its_variable(server: ModelServer, opened: Opened) -> None:
    server.key = KEY
    assert "$OPENAI_API_KEY, which is not set" in str(failure(opened()))


def test_a_bad_request_is_not_tried_again_and_quotes_nothing(
    server: ModelServer, opened: Opened
) -> None:
    server.fail_next(1, 400)
    error = failure(opened({"OPENAI_API_KEY": KEY}))
    assert not error.transient
    assert "too long" in str(error)


def test_an_unknown_model_points_at_the_setting(server: ModelServer, opened: Opened) -> None:
    server.fail_next(1, 404)
    assert "embedding.model" in str(failure(opened()))


def test_a_passing_overload_is_survived(server: ModelServer, opened: Opened) -> None:
    server.fail_next(1, 503)
    assert opened().documents(["a"]).shape == (1, 64)
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (Fault.COUNT, "1 results for 2 texts"),
        (Fault.DUPLICATE, "numbered them wrongly"),
        (Fault.DIMENSION, "63 and of 64 dimensions"),
        (Fault.NAN, "NaN"),
        (Fault.NULL, "unexpected shape"),
        (Fault.NOT_JSON, "not JSON"),
    ],
)
def test_a_broken_answer_is_refused_at_once(
    server: ModelServer, opened: Opened, fault: Fault, says: str
) -> None:
    server.fault = fault
    error = failure(opened())
    assert not error.transient
    assert says in str(error)
    assert len(server.requests) == 1


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
    assert "embedding.dimensions" in str(failure(opened(dimensions=65)))


def test_without_a_model_the_setting_is_named() -> None:
    with pytest.raises(UserError, match=r"embedding\.model"):
        OpenAIEmbedder(Embedding(provider="openai"), {})


def test_the_address_is_openais_unless_told_otherwise() -> None:
    embedder = OpenAIEmbedder(Embedding(provider="openai", model="m"), {})
    assert OPENAI_URL == "https://api.openai.com/v1"
    assert "api.openai.com" in repr(embedder._remote)


def test_a_service_counts_as_warm_and_remote(opened: Opened) -> None:
    embedder = opened()
    assert embedder.warm()
    assert not embedder.local


def test_the_key_is_in_no_repr(opened: Opened) -> None:
    embedder = opened({"OPENAI_API_KEY": KEY})
    embedder.documents(["a"])
    held = [embedder, *vars(embedder).values(), *vars(embedder._remote).values()]
    assert KEY not in repr(held)
