"""Successors, merging and the trash over HTTP, and on the page."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from http_server import API, Server, problem, serving


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("home")) as started:
        yield started


def post(server: Server, path: str, **fields: str) -> int:
    """The status of what a form is answered with."""
    return server.client.post(path, data=fields, follow_redirects=False).status_code


def test_a_successor_is_linked_and_both_pages_show_it(server: Server) -> None:
    server.save(id="old", title="Deploys run on Jenkins")
    server.save(id="new", title="Buildkite runs our pipelines")
    done = server.post(f"{API}/supersede/old", {"by": "new"}).json()
    assert (done["superseded_by"], "valid_until" in done) == ("new", True)
    chain = server.get(f"{API}/chain/old").json()
    assert [each["id"] for each in chain["replaced_by"]] == ["new"]
    assert "Replaced by <a" in server.get("/memory/old").text
    assert "Replaces <a" in server.get("/memory/new").text
    problem(server.post(f"{API}/supersede/new", {"by": "old"}), 400, "in a circle")
    problem(server.post(f"{API}/supersede/new", {"by": "nothing"}), 404, "'nothing'")


def test_the_page_replaces_a_memory(server: Server) -> None:
    server.save(id="p-old", title="Lunch at noon")
    server.save(id="p-new", title="Dinner at six")
    assert post(server, "/supersede/p-old", by="p-new") == 303
    assert server.show("p-old").json()["superseded_by"] == "p-new"


def test_a_merged_id_leads_to_the_merged_memory(server: Server) -> None:
    server.save(id="m-1", title="Ships leave at noon")
    server.save(id="m-2", title="Boats leave at twelve")
    assert server.post(f"{API}/merge", {"ids": ["m-1", "m-2"]}).json()["id"] == "m-1"
    answer = server.show("m-2")
    assert answer.json()["id"] == "m-1"
    assert answer.headers["content-location"] == f"{API}/memories/m-1"
    assert "m-2 was merged into this memory" in server.get("/memory/m-2").text
    problem(server.post(f"{API}/merge", {"ids": ["m-1", "m-1"]}), 400, "Name two or more memories")


def test_the_trash_is_listed_searched_and_given_back(server: Server) -> None:
    server.save(id="t-1", title="Quokkas sleep")
    server.client.delete(f"{API}/memories/t-1")
    [told] = server.get(f"{API}/trash", params={"q": "quokkas"}).json()["trash"]
    assert (told["memory"]["id"], told["why"]) == ("t-1", "forgotten")
    page = server.get("/trash", params={"q": "quokkas"}).text
    assert 'data-trashed="t-1"' in page
    done = server.post(f"{API}/bulk/restore", {"query": "quokkas"}).json()
    assert done == {"ids": ["t-1"], "dry_run": False}
    assert server.show("t-1").status_code == 200


def test_a_list_that_is_cut_says_how_many_more_there_are(server: Server) -> None:
    for number in range(3):
        server.save(id=f"cut-{number}", title="Wallabies hop", tags=[f"w-{number}"])
    review = server.get(f"{API}/review").json()
    first = server.get(f"{API}/review", params={"limit": 1}).json()
    assert first["items"] == review["items"][:1]
    assert (first["more"], review["more"]) == (len(review["items"]) - 1, 0)
    for number in range(3):
        server.client.delete(f"{API}/memories/cut-{number}")
    for asked in ({"q": "wallabies"}, {"tag": "w-1"}, {}):
        every = server.get(f"{API}/trash", params=asked).json()
        cut = server.get(f"{API}/trash", params={**asked, "limit": "1"}).json()
        assert (len(cut["trash"]), every["more"]) == (1, 0), asked
        assert cut["more"] == len(every["trash"]) - 1, asked


def test_the_page_changes_several_at_once(server: Server) -> None:
    server.save(id="b-1", title="One boat")
    server.save(id="b-2", title="Two boats")
    body = "id=b-1&id=b-2&action=tag&value=fleet"
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    answer = server.client.post("/bulk", content=body, headers=form, follow_redirects=False)
    assert answer.status_code == 303
    assert [server.show(id).json()["tags"] for id in ("b-1", "b-2")] == [["fleet"], ["fleet"]]
    assert post(server, "/bulk", id="b-1", action="dance") == 400
    assert post(server, "/bulk", action="pin") == 400
    assert 'form="bulk"' in server.get("/browse").text
