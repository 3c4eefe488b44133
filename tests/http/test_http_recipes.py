"""Recipes over HTTP: listed, shown, and kept under a name of one's own."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from typing import Any

import pytest
from http_server import API, Server, problem, serving

from recollect.recipes.registry import BUILT_IN

RECIPES = f"{API}/recipes"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("home")) as started:
        started.save(id="one", title="Anchors hold", text="In mud and in sand.")
        yield started


def new(name: str, **more: object) -> dict[str, object]:
    return {"name": name, "extends": "blend", "set": {"fuse.weights.keyword": 2.5}} | more


def names(server: Server) -> list[str]:
    return [one["name"] for one in server.get(RECIPES).json()["recipes"]]


def test_the_list_has_every_built_in_recipe_and_says_which_is_the_default(server: Server) -> None:
    listed: list[Any] = server.get(RECIPES).json()["recipes"]
    assert {one["name"] for one in listed} >= set(BUILT_IN)
    assert [one["name"] for one in listed if one["default"]] == ["blend"]
    for one in listed:
        assert one["about"]
        assert one["fingerprint"]


@pytest.mark.parametrize("name", BUILT_IN)
def test_a_recipe_is_shown_with_all_it_declares_also_as_toml(server: Server, name: str) -> None:
    shown = server.get(f"{RECIPES}/{name}").json()
    assert shown["name"] == name
    assert shown["declared"]
    assert tomllib.loads(shown["toml"])


def test_an_unknown_recipe_is_a_404_that_names_the_known_ones(server: Server) -> None:
    problem(server.get(f"{RECIPES}/nonesuch"), 404, "nonesuch", "blend")


def test_a_recipe_of_ones_own_is_saved_shown_listed_and_searched_with(server: Server) -> None:
    answer = server.post(RECIPES, new("mine"))
    assert answer.status_code == 201
    assert answer.headers["location"] == f"{RECIPES}/mine"
    assert server.get(answer.headers["location"]).json() == answer.json()
    assert answer.json()["declared"]["fuse"]["weights"]["keyword"] == 2.5
    assert "mine" in names(server)
    assert server.search("anchors", recipe="mine")["recipe"] == "mine"
    assert (server.home / "recipes" / "mine.toml").stat().st_mode & 0o077 == 0


def test_a_recipe_of_ones_own_is_deleted_unless_something_needs_it(server: Server) -> None:
    for name, extends in (("parent", "blend"), ("child", "parent")):
        assert server.post(RECIPES, {"name": name, "extends": extends}).status_code == 201
    delete = server.client.delete
    problem(delete(f"{RECIPES}/parent"), 409, "'child' extends 'parent'")
    for name in ("child", "parent"):
        assert delete(f"{RECIPES}/{name}").status_code == 204
        problem(delete(f"{RECIPES}/{name}"), 404)
    for built_in in ("vault", "blend"):  # the second is the default, which says nothing useful
        problem(delete(f"{RECIPES}/{built_in}"), 400, "comes with Recollect")


def test_only_ones_own_recipe_is_renamed_and_no_other_is_overwritten(server: Server) -> None:
    for name in ("old-name", "taken"):
        assert server.post(RECIPES, new(name)).status_code == 201

    def rename(name: str, to: str) -> Any:
        return server.client.patch(f"{RECIPES}/{name}", json={"name": to})

    problem(rename("old-name", "taken"), 409, "taken")
    problem(rename("old-name", "blend"), 400, "blend")
    problem(rename("old-name", "No Name"), 400, "No Name")
    problem(rename("vault", "mine"), 400, "cannot be renamed")
    problem(rename("nonesuch", "mine"), 404)
    before = server.get(f"{RECIPES}/old-name").json()
    answer = rename("old-name", "new-name").json()
    assert (answer["name"], answer["fingerprint"]) == ("new-name", before["fingerprint"])
    assert {"new-name", "taken"} <= set(names(server))
    assert "old-name" not in names(server)


def test_a_recipe_that_is_there_is_replaced_only_when_told_so(server: Server) -> None:
    assert server.post(RECIPES, new("kept")).status_code == 201
    before = server.get(f"{RECIPES}/kept").json()
    other = new("kept", set={"fuse.weights.keyword": 7.5})
    problem(server.post(RECIPES, other), 409, "kept")
    assert server.get(f"{RECIPES}/kept").json() == before
    assert server.post(RECIPES, other | {"replace": True}).status_code == 201
    assert server.get(f"{RECIPES}/kept").json() != before


@pytest.mark.parametrize(
    "name",
    ["../x", "..", ".", "/etc/x", "a/b", "a\\b", "a b", "Mine", "", "x" * 65, "nul", "-x", "a\0b"],
)
def test_a_name_that_is_no_file_name_is_refused_and_nothing_is_written(
    server: Server, name: str
) -> None:
    before = sorted(server.home.rglob("*"))
    problem(server.post(RECIPES, new(name)), 400)
    assert sorted(server.home.rglob("*")) == before


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize("replace", [False, True])
def test_a_built_in_recipe_cannot_be_written_over(server: Server, name: str, replace: bool) -> None:
    before = server.get(f"{RECIPES}/{name}").json()
    assert server.post(RECIPES, new(name, replace=replace)).status_code in (400, 409)
    assert server.get(f"{RECIPES}/{name}").json() == before


def test_a_recipe_that_cannot_be_is_refused_and_not_written(server: Server) -> None:
    problem(server.post(RECIPES, new("bad-1", extends="nonesuch")), 404, "nonesuch")
    problem(server.post(RECIPES, new("bad-2", set={"fuse.weights.nothing": 1})), 400)
    problem(server.post(RECIPES, new("bad-3", set={"fuse.weights.keyword": "much"})), 400)
    problem(server.post(RECIPES, new("bad-4", set={"fuse.weights.keyword": [1]})), 400)
    assert not [name for name in names(server) if name.startswith("bad-")]


def test_a_broken_recipe_file_is_told_of_and_breaks_nothing_else(server: Server) -> None:
    folder = server.home / "recipes"
    folder.mkdir(exist_ok=True)
    (folder / "broken.toml").write_text("extends = [", encoding="utf-8")
    (folder / "orphan.toml").write_text('extends = "nonesuch"\n', encoding="utf-8")
    (folder / "bytes.toml").write_bytes(b"\xff\xfe")
    answer = server.get(RECIPES)
    assert answer.status_code == 200
    assert set(answer.json()["broken"]) == {"broken", "orphan", "bytes"}
    assert set(names(server)) >= set(BUILT_IN)
    problem(server.get(f"{RECIPES}/broken"), 400, "broken.toml")
    problem(server.post(f"{API}/search", {"query": "anchors", "recipe": "broken"}), 400)
    assert server.found("anchors") == ["one"]
