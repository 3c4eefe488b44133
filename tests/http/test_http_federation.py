"""Servers as vaults of each other: asked with a token, for their own vault alone, never in a
circle."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from http_server import API, NOW, SECRET, Server, environment, problem, serving

from recollect import Recollect
from recollect.auth.access import HomeAccess
from recollect.auth.token_store import TokenStore
from recollect.maths import logistic
from recollect.recipes.registry import BUILT_IN
from recollect.types import Term, recompute

MINE: list[dict[str, Any]] = [
    {"id": "a-1", "title": "Harbor token", "text": "What the first knows.", "tags": ["auth"]},
    {"id": "shared", "title": "Harbor token lifetime", "text": "As the first remembers."},
]
THEIRS: list[dict[str, Any]] = [
    {"id": "b-1", "title": "Harbor token", "text": "What the second knows.", "tags": ["auth"]},
    {"id": "shared", "title": "Harbor token lifetime", "text": "As the second remembers."},
]


def free_port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as held:
        port: int = held.getsockname()[1]
        return port


def knowing(home: Path, name: str, port: int, token_env: str = "", more: str = "") -> Path:
    """A home that knows the server at that port as a vault."""
    home.mkdir(parents=True)
    (home / "config.toml").write_text(
        f'[search]\nvault_deadline_ms = 10000\n\n[[vaults]]\nname = "{name}"\ntier = "dynamic"\n'
        f'url = "http://127.0.0.1:{port}"\ntoken_env = "{token_env}"\n{more}'
    )
    return home


@contextmanager
def two(folder: Path, **more: str) -> Iterator[tuple[Server, Server]]:
    """Two servers that know each other: the first as `first`, the second as `second`."""
    ports = [free_port(), free_port()]
    with ExitStack() as stack:
        servers = [
            stack.enter_context(
                serving(
                    knowing(folder / name, other, ports[1 - place]),
                    "--port", str(ports[place]), RECOLLECT_NOW=NOW, **more,
                )
            )
            for place, (name, other) in enumerate((("first", "second"), ("second", "first")))
        ]  # fmt: skip
        for server, memories in zip(servers, (MINE, THEIRS), strict=True):
            assert server.post(f"{API}/memories", memories).status_code == 200
        yield servers[0], servers[1]


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Server]]:
    with two(tmp_path_factory.mktemp("pair")) as servers:
        yield servers


def where(answer: Any) -> list[tuple[str, str]]:
    return [(one["id"], one["vault"]) for one in answer["results"]]


def away(answer: Any) -> set[str]:
    """The degraded parts, except models."""
    return {one["channel"] for one in answer["degraded"]} - {"vector", "second/vector"}


def searches(server: Server) -> int:
    return sum(one.get("route") == f"{API}/search" for one in server.log())


def as_term(node: dict[str, Any]) -> Term:
    parts = tuple(map(as_term, node["parts"]))
    return Term(
        node["name"], node["value"], node["formula"], node.get("weight"), node.get("raw"), "", parts
    )


@pytest.mark.parametrize("recipe", BUILT_IN)
def test_a_search_spans_the_other_server_with_every_recipe(
    pair: tuple[Server, Server], recipe: str
) -> None:
    first, second = pair
    query = "harbor token" if recipe != "gnosis" else "auth token"
    answer = first.search(query, recipe=recipe, explain=True)
    assert away(answer) - {"rerank", "second/rerank", "reranker", "second/reranker"} == set()
    assert {("a-1", "agent"), ("b-1", "second")} <= set(where(answer))
    assert ("shared", "second") not in where(answer), "the own version stays"
    for one in answer["results"]:
        assert recompute(as_term(one["explain"])) == one["score"] == one["explain"]["value"]
    [theirs] = [one for one in answer["results"] if one["id"] == "b-1"]
    [bare] = [one for one in second.search(query, recipe=recipe, federate=False)["results"]
              if one["id"] == "b-1"]  # fmt: skip
    of = logistic if recipe == "blend" else float
    assert of(theirs["score"]) == pytest.approx(0.5 * of(bare["score"]), rel=1e-9)


@pytest.mark.parametrize("view", ["scan", "full", "pointer", "preview", "snippet"])
def test_every_view_comes_over_the_wire_as_it_is_at_home(
    pair: tuple[Server, Server], view: str
) -> None:
    first, second = pair
    [theirs] = [
        one for one in first.search("harbor token", view=view)["results"] if one["id"] == "b-1"
    ]
    [bare] = [
        one
        for one in second.search("harbor token", view=view, federate=False)["results"]
        if one["id"] == "b-1"
    ]
    own = {"score", "rerank_score", "vault", "breakdown"}
    assert {k: v for k, v in theirs.items() if k not in own} == {
        k: v for k, v in bare.items() if k not in own
    }
    assert theirs.keys() == bare.keys()


def test_two_servers_that_know_each_other_do_not_ask_in_a_circle(tmp_path: Path) -> None:
    with two(tmp_path) as (first, second):
        answer = first.post(f"{API}/search", {"query": "harbor token"})
        first.log_lines(answer)
        second.log_lines(second.post(f"{API}/search", {"query": "", "federate": False}))
        assert len(where(answer.json())) == 3
        assert (searches(first), searches(second)) == (1, 2), "the second's own one included"


def test_asked_not_to_a_server_answers_alone(pair: tuple[Server, Server]) -> None:
    first, _ = pair
    told = first.search("harbor token", federate=False)
    assert {vault for _, vault in where(told)} == {"agent"}
    assert away(told) == set()
    answer = first.get(f"{API}/search", params={"q": "harbor token", "federate": "false"})
    assert where(answer.json()) == where(told)


def test_a_search_is_narrowed_to_the_vaults_that_are_named(pair: tuple[Server, Server]) -> None:
    first, _ = pair
    assert where(first.search("harbor token", vaults=["second"])) != []
    assert {vault for _, vault in where(first.search("harbor token", vaults=["second"]))} == {
        "second"
    }
    answer = first.get(f"{API}/search", params={"q": "harbor token", "vault": "agent"})
    assert {vault for _, vault in where(answer.json())} == {"agent"}
    both = {"q": "harbor token", "vault": ["agent", "second"]}
    assert len(where(first.get(f"{API}/search", params=both).json())) == 3
    refused = first.post(f"{API}/search", {"query": "harbor", "vaults": ["nowhere"]})
    problem(refused, 404, "'nowhere'", "agent, second")


def test_the_filters_hold_in_the_other_server_too(pair: tuple[Server, Server]) -> None:
    first, _ = pair
    assert {id for id, _ in where(first.search("harbor token", tags=["auth"]))} == {"a-1", "b-1"}
    assert where(first.search("harbor token", project="nowhere")) == []


def test_a_recipe_that_is_set_otherwise_is_so_in_the_other_server(
    pair: tuple[Server, Server],
) -> None:
    first, _ = pair
    weight = "stages.score.signals.semantic.weight"
    usual, changed = (
        {
            one["id"]: one["score"]
            for one in first.search("harbor token", recipe="vault", set=told)["results"]
        }
        for told in ({}, {weight: 0.2})
    )
    assert changed["a-1"] < usual["a-1"]
    assert changed["b-1"] < usual["b-1"]
    mine = first.post(f"{API}/recipes", {"name": "mine", "extends": "vault", "set": {weight: 0.2}})
    assert mine.status_code == 201
    own = first.search("harbor token", recipe="mine")
    assert {one["id"]: one["score"] for one in own["results"]} == changed


def test_whole_adds_the_memory_to_each_result(pair: tuple[Server, Server]) -> None:
    first, _ = pair
    found = first.search("harbor token", whole=True)
    assert {vault for _, vault in where(found)} == {"agent", "second"}
    for one in found["results"]:
        assert one["memory"]["id"] == one["id"]
        assert one["memory"]["text"].startswith(("What", "As"))


def test_a_memory_of_the_other_server_can_be_shown_and_not_changed(
    pair: tuple[Server, Server],
) -> None:
    first, second = pair
    shown = first.show("b-1")
    assert shown.json()["text"] == "What the second knows."
    problem(first.patch("b-1", {"title": "Mine now"}), 404, "'b-1'")
    problem(first.client.delete(f"{API}/memories/b-1"), 404, "'b-1'")
    assert second.show("b-1").json()["title"] == "Harbor token"


@pytest.mark.parametrize(
    ("variable", "holding"),
    [
        ({"FAR_TOKEN": SECRET}, ""),
        ({"FAR_TOKEN": "a-wrong-token-of-some-length"}, "401; check the key in $FAR_TOKEN"),
        ({}, "401; put the key into $FAR_TOKEN, which is not set"),
    ],
)
def test_a_server_that_wants_a_token_gets_it(
    tmp_path: Path, variable: dict[str, str], holding: str
) -> None:
    port = free_port()
    far = serving(tmp_path / "far", "--port", str(port), auth="yes", RECOLLECT_TOKEN=SECRET)
    near = serving(knowing(tmp_path / "near", "far", port, "FAR_TOKEN"), **variable)
    with far as there, near as here:
        there.client.headers["Authorization"] = f"Bearer {SECRET}"
        there.save(id="b-1", title="Harbor token", text="Kept there.")
        here.save(id="a-1", title="Harbor token")
        answer = here.post(f"{API}/search", {"query": "harbor token"})
        told = answer.json()
        here.log_lines(answer)
        assert SECRET not in answer.text
        assert SECRET not in here.log_text() + there.log_text()
    if not holding:
        assert set(where(told)) == {("a-1", "agent"), ("b-1", "far")}
        return
    assert where(told) == [("a-1", "agent")]
    [reason] = [one["reason"] for one in told["degraded"] if one["channel"] == "far"]
    assert holding in reason


def test_a_server_that_goes_away_and_comes_back_is_told_and_used_again(tmp_path: Path) -> None:
    port = free_port()
    with serving(knowing(tmp_path / "near", "far", port)) as here:
        here.save(id="a-1", title="Harbor token")
        for _ in range(2):
            told = here.search("harbor token")
            assert where(told) == [("a-1", "agent")]
            assert "far" in {one["channel"] for one in told["degraded"]}
            with serving(tmp_path / "far", "--port", str(port)) as there:
                if "b-1" not in there.list_ids():
                    there.save(id="b-1", title="Harbor token", text="Kept there.")
                assert set(where(here.search("harbor token"))) == {
                    ("a-1", "agent"),
                    ("b-1", "far"),
                }


def test_a_server_that_is_its_own_vault_finds_everything_once(tmp_path: Path) -> None:
    port = free_port()
    home = knowing(tmp_path / "home", "mirror", port)
    with serving(home, "--port", str(port)) as server:
        server.save(id="a-1", title="Harbor token")
        told = server.search("harbor token")
        assert where(told) == [("a-1", "agent")]
        assert told["counts"]["dropped"] == {"repeated": 1}


def test_a_server_stops_at_once_although_a_vault_hangs(tmp_path: Path) -> None:
    """A vault takes the question and never answers; the deadline is an hour away."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        home = knowing(tmp_path / "home", "silent", silent.getsockname()[1])
        text = (home / "config.toml").read_text()
        (home / "config.toml").write_text(text.replace("10000", "300"))
        with serving(home) as server:
            server.save(id="a-1", title="Harbor token")
            told = server.search("harbor token")
            assert where(told) == [("a-1", "agent")]
            assert "silent" in {one["channel"] for one in told["degraded"]}
            assert server.stop() == 0


def test_an_unknown_memory_is_not_looked_for_in_a_circle(pair: tuple[Server, Server]) -> None:
    """Each server knows the other: asked by a server, it looks in its own vault alone."""
    first, second = pair
    problem(first.show("nobody-knows-it"), 404, "'nobody-knows-it'")
    alone = first.get(f"{API}/memories/b-1", params={"federate": "false"})
    problem(alone, 404, "'b-1'")
    assert second.show("b-1").status_code == 200


def test_a_token_for_another_vault_searches_that_one_alone(tmp_path: Path) -> None:
    """A token for `--vault team`, on a server that spans `team`."""
    home, team = tmp_path / "home", tmp_path / "team.db"
    with Recollect(team, home=tmp_path, environment=environment(tmp_path)) as memory:
        memory.save(id="ours", title="Harbor token", text="What the team knows.")
    home.mkdir()
    (home / "config.toml").write_text(
        f'[[vaults]]\nname = "team"\ntier = "team"\npath = "{team}"\n'
    )
    token, _ = TokenStore(HomeAccess(home)).create(["search:use"], vaults=["team"])
    told = {"Authorization": f"Bearer {token}"}
    with serving(home) as server:
        server.post(f"{API}/memories", MINE)
        asked = {"query": "harbor token"}
        both = server.post(f"{API}/search", asked).json()
        alone = server.post(f"{API}/search", asked, headers=told).json()
        assert {one["vault"] for one in both["results"]} == {"agent", "team"}
        assert [(one["id"], one["vault"]) for one in alone["results"]] == [("ours", "team")]
        assert server.get(f"{API}/memories/ours", headers=told).json()["id"] == "ours"
        problem(server.get(f"{API}/memories/a-1", headers=told), 404)
        for path in ("/memories", "/context", "/facets", "/related/ours"):
            assert "'agent'" in problem(server.get(f"{API}{path}", headers=told), 403)
        own = asked | {"vaults": ["agent"]}
        assert "'agent'" in problem(server.post(f"{API}/search", own, headers=told), 403)
        problem(server.post(f"{API}/memories", {"title": "Mine"}, headers=told), 403)
