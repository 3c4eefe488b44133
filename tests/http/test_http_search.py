"""Searching over HTTP: as JSON and in the address, filtered, explained, set otherwise; context
and feedback."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from http_server import API, NOW, Server, problem, serving

from recollect.present.response import VIEWS
from recollect.recipes.registry import BUILT_IN
from recollect.recipes.tree import as_tree

SEARCH = f"{API}/search"
MEMORIES: list[dict[str, Any]] = [
    {
        "id": "tok-1", "title": "Refresh tokens rotate", "text": "Each use replaces the token.",
        "tags": ["auth", "api"], "project": "harbor", "domain": "auth", "kind": "decision",
        "source": "cli", "space": "work", "created_at": "2026-02-27T00:00:00Z",
    },
    {
        "id": "tok-2", "title": "Design tokens", "text": "Colours live in one token file.",
        "tags": ["ui"], "project": "lantern", "domain": "frontend", "kind": "fact",
        "source": "web", "space": "play", "created_at": "2026-01-10T00:00:00Z",
    },
    {
        "id": "tok-3", "title": "Laundry tokens", "text": "Brass, from the caretaker.",
        "tags": ["house"], "severity": "critical", "created_at": "2025-06-01T00:00:00Z",
    },
    {"id": "other-1", "title": "Sails", "text": "Mended in spring.", "tags": ["auth"]},
]  # fmt: skip


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("home"), RECOLLECT_NOW=NOW) as started:
        assert started.post(f"{API}/memories", MEMORIES).status_code == 200
        yield started


def without_times(answer: Any) -> Any:
    """The answer without what differs from one run to the next."""
    assert answer.pop("timings_ms")["total"] >= 0
    return answer


@pytest.mark.parametrize(
    ("body", "parameters"),
    [
        ({"query": "tokens"}, {"q": "tokens"}),
        ({"query": ""}, {"q": ""}),
        (
            {"query": "rotate", "limit": 2, "view": "full", "recipe": "vault", "explain": True},
            {"q": "rotate", "limit": "2", "view": "full", "recipe": "vault", "explain": "true"},
        ),
        (
            {"query": "tokens", "tags": ["auth", "api"], "project": "harbor", "facets": True},
            {"q": "tokens", "tag": ["auth", "api"], "project": "harbor", "facets": "true"},
        ),
        (
            {"query": "tokens", "without_tags": ["UI"], "without_projects": ["harbor"]},
            {"q": "tokens", "not_tag": "UI", "not_project": "harbor"},
        ),
        (
            {"query": "tokens", "without_kinds": ["fact", "session"], "kind": ["bug", "fact"]},
            {"q": "tokens", "not_kind": ["fact", "session"], "kind": ["bug", "fact"]},
        ),
        (
            {"query": "tokens", "sort": "newest", "until": "last month"},
            {"q": "tokens", "sort": "newest", "until": "last month"},
        ),
        (
            {"query": "token", "prefer_tags": ["ui"], "prefer_domain": "frontend"},
            {"q": "token", "prefer_tag": "ui", "prefer_domain": "frontend"},
        ),
        (
            {"query": "auth api", "recipe": "gnosis", "deep": True},
            {"q": "auth api", "recipe": "gnosis", "deep": "true"},
        ),
        (
            {"query": "rust last week", "literal": True, "since": "90d", "until": "2026-02-28"},
            {"q": "rust last week", "literal": "true", "since": "90d", "until": "2026-02-28"},
        ),
        (
            {"query": "tokens", "now": "2026-02-01", "set": {"fuse.weights.keyword": 3.5}},
            {"q": "tokens", "now": "2026-02-01", "set.fuse.weights.keyword": "3.5"},
        ),
    ],
)  # fmt: skip
def test_a_search_in_the_address_answers_like_one_in_the_body(
    server: Server, body: Any, parameters: Any
) -> None:
    posted, got = server.post(SEARCH, body), server.get(SEARCH, params=parameters)
    assert (posted.status_code, got.status_code) == (200, 200), posted.text + got.text
    assert without_times(posted.json()) == without_times(got.json())


@pytest.mark.parametrize("recipe", BUILT_IN)
@pytest.mark.parametrize("view", VIEWS)
def test_every_recipe_answers_in_every_view(server: Server, recipe: str, view: str) -> None:
    answer = server.search("tokens rotate", recipe=recipe, view=view)
    assert (answer["recipe"], answer["view"]) == (recipe, view)
    # Without vectors, gnosis recalls by topic alone.
    assert [result["id"] for result in answer["results"]][:1] == ["tok-1"] * (recipe != "gnosis")


@pytest.mark.parametrize(
    ("narrow", "ids"),
    [
        ({"project": "harbor"}, {"tok-1"}),
        ({"domain": "frontend"}, {"tok-2"}),
        ({"kind": "decision"}, {"tok-1"}),
        ({"source": "web"}, {"tok-2"}),
        ({"space": "work"}, {"tok-1"}),
        ({"tags": ["auth", "api"]}, {"tok-1"}),
        ({"tags": ["auth", "ui"]}, set()),
        ({"since": "2026-01-01"}, {"tok-1", "tok-2"}),
        ({"since": "7d"}, {"tok-1"}),
        ({"until": "2025-12-31"}, {"tok-3"}),
    ],
)
def test_every_filter_must_hold(server: Server, narrow: dict[str, Any], ids: set[str]) -> None:
    assert set(server.found("tokens", **narrow)) == ids


def test_an_explanation_comes_when_asked_for_and_its_root_is_the_score(server: Server) -> None:
    plain, explained = server.search("tokens"), server.search("tokens", explain=True)
    assert all("explain" not in result for result in plain["results"])
    for result in explained["results"]:
        assert result["explain"]["value"] == result["score"]
        assert result["explain"]["parts"]


def test_a_constant_can_be_set_for_one_search_alone(server: Server) -> None:
    before = without_times(server.search("tokens", explain=True))
    changed = without_times(server.search("tokens", explain=True, set={"fuse.alone.keyword": 9.0}))
    assert changed["results"] != before["results"]
    assert without_times(server.search("tokens", explain=True)) == before


@pytest.mark.parametrize(
    "set", [{"fuse.weights.nothing": 1}, {"": 1}, {"fuse": 1}, {"limits.default": "many"}]
)
def test_a_constant_that_the_recipe_does_not_have_is_refused(
    server: Server, set: dict[str, object]
) -> None:
    problem(server.post(SEARCH, {"query": "tokens", "set": set}), 400)


@pytest.mark.parametrize(
    ("fields", "status", "named"),
    [
        ({"recipe": "nonesuch"}, 404, "nonesuch"),
        ({"view": "poster"}, 400, "poster"),
        ({"limit": 0}, 400, "limit"),
        ({"limit": 1001}, 400, "limit"),
        ({"limit": "5"}, 400, "limit"),
        ({"since": "yore"}, 400, "since"),
        ({"now": "yore"}, 400, "now"),
        ({"colour": "red"}, 400, "colour"),
        ({"tags": "auth"}, 400, "tags"),
        ({"deep": 1}, 400, "deep"),
        ({"query": "x" * 10_001}, 400, "query"),
        ({"query": None}, 400, "query"),
    ],
)
def test_a_search_that_cannot_be_served_is_refused_by_name(
    server: Server, fields: dict[str, Any], status: int, named: str
) -> None:
    problem(server.post(SEARCH, {"query": "tokens", **fields}), status, named)


def test_a_search_without_a_query_is_refused(server: Server) -> None:
    problem(server.post(SEARCH, {}), 400, "query")
    problem(server.get(SEARCH), 400, "q is missing")


@pytest.mark.parametrize("value", ["null", "NaN", "1.5", "-1", "99999999999999999999"])
def test_a_limit_in_the_address_is_a_whole_number(server: Server, value: str) -> None:
    problem(server.get(SEARCH, params={"q": "tokens", "limit": value}), 400, "limit")


def test_facets_count_all_that_was_found(server: Server) -> None:
    answer = server.search("tokens", facets=True, limit=1)
    assert len(answer["results"]) == 1
    assert answer["facets"]["project"] == {"harbor": 1, "lantern": 1}
    assert "facets" not in server.search("tokens")


# Context


def test_context_gives_what_matches_and_fills_up_with_the_newest(server: Server) -> None:
    answer = server.get(f"{API}/context", params={"q": "rotate", "limit": 3}).json()
    assert answer["memories"][0]["id"] == "tok-1"
    assert (answer["matched"], answer["topped_up"], answer["left_out"]) == (1, 2, 0)
    bare = {"q": "rotate", "topup_recent": "false"}
    answer = server.get(f"{API}/context", params=bare).json()
    assert [memory["id"] for memory in answer["memories"]] == ["tok-1"]


def test_context_keeps_to_its_budget_and_its_filters(server: Server) -> None:
    raw = server.get(f"{API}/context", params={"max_tokens": 60})
    answer = raw.json()
    assert len(raw.text) <= 4 * 60
    assert answer["memories"] == []
    assert answer["left_out"] > 0
    assert "are needed" in answer["note"]
    problem(server.get(f"{API}/context", params={"max_tokens": 1}), 400, "too small")
    answer = server.get(f"{API}/context", params={"project": "lantern"}).json()
    assert [memory["id"] for memory in answer["memories"]] == ["tok-2"]
    answer = server.get(f"{API}/context", params={"project": "lanterns"}).json()
    assert answer["memories"] == []
    assert answer["note"] == "There is no project 'lanterns'; did you mean lantern?"
    problem(server.get(f"{API}/context", params={"max_tokens": "0"}), 400, "max_tokens")
    problem(server.get(f"{API}/context", params={"semantic": "perhaps"}), 400, "semantic")


# Feedback


def test_feedback_is_counted_and_says_what_became_of_the_weights(server: Server) -> None:
    said = {"query": "tokens", "id": "tok-1", "accepted": True, "recipe": "vault"}
    first = server.post(f"{API}/feedback", said).json()
    assert (first["accepted"], first["dismissed"]) == (1, 0)
    second = server.post(f"{API}/feedback", said | {"accepted": False}).json()
    assert (second["accepted"], second["dismissed"]) == (0, 1)
    assert second["weights"]
    for weight in second["weights"].values():
        assert set(weight) == {"declared", "now"}
    undo = {"query": "Tokens?", "id": "tok-1", "undo": True}
    assert server.post(f"{API}/feedback", undo).json()["dismissed"] == 0
    problem(server.post(f"{API}/feedback", undo), 404, "no feedback of 'tok-1'")
    problem(server.post(f"{API}/feedback", undo | {"undo": False}), 400, "accept it, or dismiss")


def test_what_was_learned_is_told_and_reset(server: Server) -> None:
    learned = server.get(f"{API}/recipes/blend/learned").json()
    declared = as_tree(BUILT_IN["blend"])["fuse"]["weights"]["vector"]
    assert learned["weights"]["vector"] == {"declared": declared, "now": declared}
    assert server.client.delete(f"{API}/recipes/blend/learned").json()["lesson"] is None
    problem(server.get(f"{API}/recipes/nonesuch/learned"), 404, "nonesuch")
    problem(server.client.delete(f"{API}/recipes/nonesuch/learned"), 404, "nonesuch")


def test_feedback_on_an_unknown_recipe_or_without_a_query_is_not_noted(server: Server) -> None:
    said = {"query": "tokens", "id": "tok-1", "accepted": True}
    before = server.post(f"{API}/feedback", said).json()["accepted"]
    problem(server.post(f"{API}/feedback", said | {"recipe": "nonesuch"}), 404, "nonesuch")
    problem(server.post(f"{API}/feedback", said | {"query": " "}), 400, "query")
    problem(server.post(f"{API}/feedback", said | {"accepted": "yes"}), 400, "accepted")
    assert server.post(f"{API}/feedback", said).json()["accepted"] == before
