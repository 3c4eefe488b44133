"""The rerank provider `http`, against a real HTTP server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from model_server import Fault, ModelServer
from recollect.errors import ProviderError, UserError
from recollect.models.providers import HttpReranker
from recollect.settings import Rerank

KEY = "rk-very-secret"
TEXTS = ["tea", "the database is slow", "coffee"]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def reranker(server: ModelServer) -> Iterator[HttpReranker]:
    settings = Rerank(provider="http", model="toy", base_url=server.url, api_key_env="RERANK_KEY")
    made = HttpReranker(settings, {"RERANK_KEY": KEY})
    yield made
    made.close()


def test_the_request_is_the_documented_one(server: ModelServer, reranker: HttpReranker) -> None:
    reranker.scores("slow database", TEXTS)
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/rerank")
    assert request.body == {"model": "toy", "query": "slow database", "documents": TEXTS}
    assert request.headers["authorization"] == f"Bearer {KEY}"


def test_scores_come_in_the_documents_order_though_the_server_sorts_them(
    reranker: HttpReranker,
) -> None:
    assert reranker.scores("slow database", TEXTS) == [0.0, 1.0, 0.0]


def test_no_key_means_no_authorization_header(server: ModelServer) -> None:
    made = HttpReranker(Rerank(provider="http", base_url=server.url), {"OPENAI_API_KEY": KEY})
    made.scores("a", ["a"])
    assert "authorization" not in server.requests[0].headers
    made.close()


def test_no_documents_make_no_request(server: ModelServer, reranker: HttpReranker) -> None:
    assert reranker.scores("a", []) == []
    assert server.requests == []


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (Fault.COUNT, "2 results for 3 texts"),
        (Fault.DUPLICATE, "numbered them wrongly"),
        (Fault.NAN, r"not a number in 0…1"),
        (Fault.RANGE, r"not a number in 0…1"),
        (Fault.NULL, "unexpected shape"),
        (Fault.NOT_JSON, "not JSON"),
    ],
)
def test_a_broken_answer_is_refused_at_once(
    server: ModelServer, reranker: HttpReranker, fault: Fault, says: str
) -> None:
    server.fault = fault
    with pytest.raises(ProviderError, match=says) as caught:
        reranker.scores("slow database", TEXTS)
    assert not caught.value.transient
    assert len(server.requests) == 1


def test_a_refused_key_names_its_variable_and_never_the_key(
    server: ModelServer, reranker: HttpReranker
) -> None:
    server.key = "another"
    with pytest.raises(ProviderError, match=r"check the key in \$RERANK_KEY") as caught:
        reranker.scores("slow database", TEXTS)
    assert KEY not in str(caught.value)
    assert "slow" not in str(caught.value)
    assert KEY not in repr([reranker, *vars(reranker).values()])


def test_a_server_that_wants_a_key_nobody_named_points_at_the_setting(server: ModelServer) -> None:
    server.key = KEY
    made = HttpReranker(Rerank(provider="http", base_url=server.url), {})
    with pytest.raises(ProviderError, match=r"rerank\.api_key_env"):
        made.scores("a", ["a"])
    made.close()


def test_identity_names_the_model(reranker: HttpReranker) -> None:
    assert reranker.identity == "http:toy"


def test_without_an_address_the_setting_is_named() -> None:
    with pytest.raises(UserError, match=r"rerank\.base_url"):
        HttpReranker(Rerank(provider="http"), {})
