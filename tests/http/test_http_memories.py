"""Memories over HTTP: saved, browsed, read, changed, forgotten, without lost updates."""

from __future__ import annotations

import html
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from http_server import API, Server, problem, serving

MEMORIES = f"{API}/memories"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("home")) as started:
        yield started


def state(server: Server) -> Any:
    """Every memory, as it is now."""
    return server.get(MEMORIES, params={"limit": 1000}).json()


# Saving


def test_a_new_memory_is_answered_with_201_its_place_and_its_state(server: Server) -> None:
    answer = server.post(MEMORIES, {"title": "Ships leave at noon", "tags": ["harbour"]})
    assert answer.status_code == 201
    told = answer.json()
    assert told == {"id": told["id"], "outcome": "added", "repeated": False}
    assert answer.headers["location"] == f"{MEMORIES}/{told['id']}"
    shown = server.get(answer.headers["location"])
    assert shown.json()["title"] == "Ships leave at noon"
    assert shown.headers["etag"] == answer.headers["etag"]


def test_a_save_is_answered_with_what_it_is_similar_to(server: Server) -> None:
    server.save(id="pilot-1", title="The pilot comes aboard at the buoy")
    told = {"id": "pilot-2", "title": "the pilot comes aboard at the buoy"}
    similar = {"id": "pilot-1", "title": "The pilot comes aboard at the buoy", "why": "same words"}
    assert server.post(MEMORIES, told).json()["similar"] == [similar]
    assert "similar" not in server.post(MEMORIES, [told]).json()[0]


def test_the_same_id_again_updates_and_the_same_memory_again_changes_nothing(
    server: Server,
) -> None:
    id = server.save(id="twice-1", title="First words")
    again = server.post(MEMORIES, {"id": id, "title": "Other words"})
    assert (again.status_code, again.json()["outcome"]) == (200, "updated")
    assert server.show(id).json()["title"] == "Other words"
    once_more = server.post(MEMORIES, {"id": id, "title": "Other words"})
    assert (once_more.status_code, once_more.json()["outcome"]) == (200, "unchanged")


def test_a_memory_without_an_id_that_repeats_one_of_its_project_updates_that_one(
    server: Server,
) -> None:
    told = {"title": "The lighthouse blinks twice", "text": "Every nine seconds.", "project": "sea"}
    id = server.save(**told)
    again = server.post(MEMORIES, told | {"tags": ["light"]})
    assert again.status_code == 200
    assert again.json() == {"id": id, "outcome": "updated", "repeated": True}
    assert server.show(id).json()["tags"] == ["light"]


def test_an_id_with_slashes_and_signs_is_found_at_the_place_it_was_given(server: Server) -> None:
    id = "docs/a b?c#d%é.md".replace(" ", "_")
    answer = server.post(MEMORIES, {"id": id, "title": "A file"})
    assert answer.status_code == 201
    assert answer.headers["location"] == f"{MEMORIES}/{quote(id, safe='')}"
    assert server.get(answer.headers["location"]).json()["id"] == id


def test_several_memories_are_saved_in_one_request(server: Server) -> None:
    answer = server.post(MEMORIES, [{"id": f"several-{n}", "title": f"No. {n}"} for n in range(3)])
    assert answer.status_code == 200
    assert [one["id"] for one in answer.json()] == ["several-0", "several-1", "several-2"]
    assert {one["outcome"] for one in answer.json()} == {"added"}


@pytest.mark.parametrize(
    "bad",
    [{"tags": ["neither title nor text"]}, {"title": "A", "colour": "red"}, {"title": "A\0"}, 7],
)
def test_of_several_memories_none_is_saved_if_one_is_bad(server: Server, bad: object) -> None:
    before = state(server)
    problem(server.post(MEMORIES, [{"id": "good-1", "title": "Good"}, bad]), 400)
    assert state(server) == before


@pytest.mark.parametrize("body", [[], [{"title": "x"}] * 1001], ids=["none", "too many"])
def test_a_list_holds_one_memory_at_least_and_a_thousand_at_most(
    server: Server, body: object
) -> None:
    problem(server.post(MEMORIES, body), 400)


def test_an_unknown_field_is_refused_by_name(server: Server) -> None:
    problem(server.post(MEMORIES, {"title": "A", "colour": "red"}), 400, "colour")
    problem(server.patch(server.save(title="Red sails"), {"colour": "red"}), 400, "colour")


# Browsing


@pytest.fixture
def shelf(server: Server, request: pytest.FixtureRequest) -> str:
    """A project with seven memories of all tiers, by name."""
    name: str = request.node.name
    for n in range(7):
        tier = ("core", "capture", "file")[n % 3]
        made = f"2026-01-0{n // 2 + 1}T00:00:00Z"  # some were made at the same moment
        server.save(id=f"{name}-{n}", title=f"Volume {n}", project=name, tier=tier, created_at=made)
    return name


def page(server: Server, project: str, cursor: str | None) -> tuple[list[str], str | None]:
    told = {"project": project, "limit": 2} | ({"cursor": cursor} if cursor else {})
    answer = server.get(MEMORIES, params=told).json()
    return [memory["id"] for memory in answer["memories"]], answer["next"]


def pages(server: Server, project: str) -> Iterator[list[str]]:
    ids, cursor = page(server, project, None)
    yield ids
    while cursor is not None:
        ids, cursor = page(server, project, cursor)
        yield ids


def test_near_values_are_named(server: Server, shelf: str) -> None:
    near = f"There is no project '{shelf}f'; did you mean {shelf}?"
    answer = server.get(MEMORIES, params={"project": f"{shelf}f"}).json()
    assert answer == {"memories": [], "next": None, "notes": [near]}
    assert near in server.search("ship", project=f"{shelf}f")["notes"]
    for path in ("/browse?", "/?q=ship&"):
        page = server.get(f"{path}project={shelf}f", headers={"Accept": "text/html"})
        assert near in html.unescape(page.text), path
    assert server.list_ids(project=f" {shelf.upper()}") == server.list_ids(project=shelf) != []


def test_the_pages_together_are_the_whole_list(server: Server, shelf: str) -> None:
    whole = server.list_ids(project=shelf)
    cut = list(pages(server, shelf))
    assert [len(ids) for ids in cut] == [2, 2, 2, 1]
    assert [id for ids in cut for id in ids] == whole
    assert len(whole) == 7


@pytest.mark.parametrize("meanwhile", ["forgotten", "purged", "changed"])
def test_the_next_page_stays_right_when_the_last_memory_of_a_page_is_gone(
    server: Server, shelf: str, meanwhile: str
) -> None:
    whole = server.list_ids(project=shelf)
    ids, cursor = page(server, shelf, None)
    if meanwhile == "changed":
        server.patch(ids[-1], {"title": "Another title", "tier": "core"})
    else:
        told = {"purge": "true"} if meanwhile == "purged" else {}
        assert server.client.delete(f"{MEMORIES}/{ids[-1]}", params=told).status_code == 204
    rest = []
    while cursor is not None:
        ids, cursor = page(server, shelf, cursor)
        rest += ids
    assert rest == whole[2:]


@pytest.mark.parametrize(
    "cursor", ["garbage", "bnVsbA", "%00", "é", "a" * 1999, "WyJjb3JlIiwwLG51bGxd", "W10"]
)
def test_a_cursor_that_was_not_handed_out_is_refused(server: Server, cursor: str) -> None:
    problem(server.get(MEMORIES, params={"cursor": cursor}), 400, "cursor")


def test_the_list_is_narrowed_by_every_filter(server: Server) -> None:
    fields = {
        "project": "p-x", "source": "s-x", "domain": "d-x", "kind": "k-x", "space": "sp-x",
    }  # fmt: skip
    id = server.save(title="Narrow", tags=["t-x", "t-y"], created_at="2020-05-05", **fields)
    server.save(title="Wide")
    for name, value in fields.items():
        assert server.list_ids(**{name: value}) == [id]
    assert server.list_ids(tag=["t-x", "t-y"]) == [id]
    assert server.list_ids(tag=["t-x", "t-z"]) == []
    assert server.list_ids(tag="t-x,t-y") == [id]
    assert server.list_ids(tag="t-x, t-z") == []
    assert server.list_ids(kind="k-x,k-y") == [id]
    assert server.list_ids(not_tag="t-q,t-y", kind="k-x") == []
    assert server.list_ids(until="2020-06-01") == [id]
    assert id not in server.list_ids(since="2020-06-01", limit=1000)


def test_a_wrong_parameter_is_refused_by_name(server: Server) -> None:
    problem(server.get(MEMORIES, params={"colour": "red"}), 400, "colour")
    problem(server.get(MEMORIES, params={"limit": "0"}), 400, "limit")
    problem(server.get(MEMORIES, params={"limit": "many"}), 400, "limit")
    problem(server.get(MEMORIES, params={"since": "yore"}), 400, "since")
    problem(server.get(MEMORIES, params={"space": ["a", "b"]}), 400, "space")
    problem(server.get(f"{API}/recipes", params={"a": "b"}), 400)


# Reading


def test_a_reader_that_knows_the_state_is_told_that_nothing_changed(server: Server) -> None:
    id = server.save(title="Unchanged for years")
    known = server.etag(id)
    for told in (known, f'"other", {known}', f"W/{known}", "*"):
        answer = server.get(f"{MEMORIES}/{id}", headers={"If-None-Match": told})
        assert (answer.status_code, answer.content, answer.headers["etag"]) == (304, b"", known)
    server.patch(id, {"text": "Until today."})
    answer = server.get(f"{MEMORIES}/{id}", headers={"If-None-Match": known})
    assert answer.status_code == 200
    assert answer.headers["etag"] != known


def test_head_is_answered_like_get_without_a_body(server: Server) -> None:
    id = server.save(title="Only the head")
    answer = server.client.head(f"{MEMORIES}/{id}")
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer.headers["etag"] == server.etag(id)


def test_a_part_of_an_id_is_the_memory_that_alone_has_it(server: Server) -> None:
    server.save(id="partly-named-7x7x7x", title="Partly named")
    server.save(id="partly-other-8y8y8y", title="Partly other")
    for part in ("partly-n", "7x7x7x"):
        shown = server.show(part)
        assert shown.json()["id"] == "partly-named-7x7x7x"
        assert shown.headers["content-location"] == f"{MEMORIES}/partly-named-7x7x7x"
    problem(server.show("partly"), 400, "partly-named-7x7x7x, partly-other-8y8y8y. Type more")
    assert server.patch("8y8y8y", {"kind": "bug"}).json()["kind"] == "bug"
    assert server.client.delete(f"{MEMORIES}/8y8y8y").status_code == 204
    problem(server.client.delete(f"{MEMORIES}/partly-n?purge=true"), 404, "partly-n")


def test_a_memory_that_is_not_there_is_a_404_wherever_it_is_named(server: Server) -> None:
    for answer in (
        server.show("nobody"),
        server.patch("nobody", {"title": "x"}),
        server.client.delete(f"{MEMORIES}/nobody"),
        server.post(f"{API}/restore/nobody"),
        server.get(f"{API}/related/nobody"),
        server.post(f"{API}/feedback", {"query": "x", "id": "nobody", "accepted": True}),
    ):
        problem(answer, 404, "'nobody'")


# Changing


def test_a_change_touches_only_the_fields_it_names_and_null_resets(server: Server) -> None:
    id = server.save(title="Draught", text="Two metres.", kind="bug", severity="warning", why="Mud")
    answer = server.patch(id, {"text": "Three metres.", "kind": None, "severity": None})
    assert answer.status_code == 200
    told = answer.json()
    assert (told["title"], told["text"], told["why"]) == ("Draught", "Three metres.", "Mud")
    assert (told["kind"], told["severity"]) == ("fact", None)
    assert answer.headers["etag"] == server.etag(id)
    assert server.show(id).json() == told


def test_an_undo_is_done_again(server: Server) -> None:
    server.post(MEMORIES, {"id": "tug", "title": "A tug"})
    undone = server.post(f"{API}/undo", {}).json()
    assert (undone["undone"], undone["ids"], undone["forgotten"]) == ("save", ["tug"], ["tug"])
    redone = server.post(f"{API}/redo").json()
    assert (redone["redone"], redone["ids"], redone["forgotten"]) == ("save", ["tug"], [])
    assert server.get(f"{MEMORIES}/tug").json()["title"] == "A tug"
    problem(server.post(f"{API}/redo"), 404, "There is nothing to redo")


def test_a_change_may_be_sent_as_a_merge_patch(server: Server) -> None:
    id = server.save(title="Merge")
    media = {"Content-Type": "application/merge-patch+json"}
    url = f"{MEMORIES}/{id}"
    answer = server.client.patch(url, content=b'{"title": "Merged"}', headers=media)
    assert answer.json()["title"] == "Merged"


def test_tags_are_added_and_taken_off_beside_the_others(server: Server) -> None:
    id = server.save(title="Tagged", tags=["a", "b"])
    told = server.patch(id, {"add_tags": ["c"], "remove_tags": ["a"]}).json()
    assert told["tags"] == ["b", "c"]
    problem(server.patch(id, {"tags": [], "add_tags": ["c"]}), 400, "add_tags")


def test_the_last_of_title_and_text_cannot_be_taken_away(server: Server) -> None:
    id = server.save(title="Only a title")
    problem(server.patch(id, {"title": None}), 400, "title or a text")
    assert server.show(id).json()["title"] == "Only a title"


def test_a_change_based_on_an_old_state_is_refused_and_nothing_is_written(server: Server) -> None:
    id = server.save(title="Contested")
    known = server.etag(id)
    assert server.patch(id, {"text": "Mine"}, If_Match=known).status_code == 200
    now = server.show(id)
    problem(server.patch(id, {"text": "Theirs", "tags": ["x"]}, If_Match=known), 412, "changed")
    assert server.show(id).json() == now.json()
    assert server.patch(id, {"text": "Theirs"}, If_Match=now.headers["etag"]).status_code == 200
    assert server.patch(id, {"text": "Anyone's"}, If_Match="*").status_code == 200


def test_of_two_changes_at_once_from_the_same_state_exactly_one_wins(server: Server) -> None:
    id = server.save(title="Raced for")
    for turn in range(5):
        known = server.etag(id)

        def change(text: str, known: str = known) -> httpx2.Response:
            return server.patch(id, {"text": text}, If_Match=known)

        with ThreadPoolExecutor(2) as threads:
            answers = list(threads.map(change, [f"left {turn}", f"right {turn}"]))
        assert sorted(answer.status_code for answer in answers) == [200, 412]
        [winner] = [answer for answer in answers if answer.status_code == 200]
        assert server.show(id).json() == winner.json()


# Forgetting


def test_a_forgotten_memory_is_in_no_answer_until_it_is_brought_back(server: Server) -> None:
    id = server.save(title="Barnacle ledger", project="barnacles")
    before = server.show(id).json()
    answer = server.client.delete(f"{MEMORIES}/{id}")
    assert (answer.status_code, answer.content) == (204, b"")
    problem(server.show(id), 404)
    problem(server.client.delete(f"{MEMORIES}/{id}"), 404)
    assert server.list_ids(project="barnacles") == []
    assert server.found("barnacle ledger") == []
    restored = server.post(f"{API}/restore/{id}")
    assert (restored.status_code, restored.json()) == (200, before)
    assert restored.headers["etag"] == server.etag(id)
    assert server.found("barnacle ledger") == [id]
    problem(server.post(f"{API}/restore/{id}"), 404)


def test_a_purged_memory_cannot_be_brought_back(server: Server) -> None:
    id = server.save(title="Gone for good")
    url = f"{MEMORIES}/{id}"
    assert server.client.delete(url, params={"purge": "true"}).status_code == 204
    problem(server.post(f"{API}/restore/{id}"), 404)


def test_a_memory_that_was_forgotten_before_can_still_be_purged(server: Server) -> None:
    id = server.save(title="Forgotten, then purged")
    assert server.client.delete(f"{MEMORIES}/{id}").status_code == 204
    url = f"{MEMORIES}/{id}"
    assert server.client.delete(url, params={"purge": "true"}).status_code == 204
    problem(server.post(f"{API}/restore/{id}"), 404)


def test_forgetting_an_old_state_is_refused(server: Server) -> None:
    id = server.save(title="Read before you forget")
    known = server.etag(id)
    server.patch(id, {"text": "More to read"})
    answer = server.client.delete(f"{MEMORIES}/{id}", headers={"If-Match": known})
    problem(answer, 412, "changed")
    assert server.show(id).status_code == 200


# What memories have in common


def test_related_memories_are_others_about_the_same_thing(server: Server) -> None:
    told = [
        ("rel-1", "Gudgeon pins of the rudder"),
        ("rel-2", "Rudder gudgeon replaced"),
        ("rel-3", "Where the gudgeon and the rudder meet"),
    ]
    for id, title in told:
        server.save(id=id, title=title)
    answer = server.get(f"{API}/related/rel-1", params={"limit": 5}).json()
    ids = [result["id"] for result in answer["results"]]
    assert set(ids) >= {"rel-2", "rel-3"}
    assert "rel-1" not in ids
    one = server.get(f"{API}/related/rel-1", params={"limit": 1}).json()
    assert [result["id"] for result in one["results"]] == ids[:1]


def test_facets_count_what_the_filtered_memories_have_in_common(server: Server) -> None:
    for n in range(3):
        server.save(title=f"Facet {n}", project="facets", kind=("bug", "idea")[n % 2], tags=["f"])
    server.save(title="No facet", project="elsewhere")
    answer = server.get(f"{API}/facets", params={"project": "facets"})
    assert answer.json()["project"] == {"facets": 3}
    assert answer.json()["kind"] == {"bug": 2, "idea": 1}
    assert answer.json()["tags"] == {"f": 3}
    whole = server.get(f"{API}/facets").json()
    assert whole["project"]["facets"] == 3
    assert len(whole["project"]) > 1


# Many at once


def test_a_filter_chooses_the_memories_that_are_changed_or_forgotten(server: Server) -> None:
    for name in ("bulk-1", "bulk-2"):
        server.save(id=name, title=f"Bulk carrier {name}", project="fleet")
    change = {"project": "fleet", "change": {"add_tags": ["ship"]}}
    done = server.post(f"{API}/bulk/change", change | {"dry_run": True})
    assert done.json() == {"ids": ["bulk-2", "bulk-1"], "dry_run": True}
    assert server.show("bulk-1").json()["tags"] == []
    server.post(f"{API}/bulk/change", change)
    assert server.show("bulk-1").json()["tags"] == ["ship"]
    assert server.post(f"{API}/bulk/forget", {"query": "bulk carriers"}).status_code == 200
    assert server.show("bulk-2").status_code == 404


def test_a_change_of_many_needs_ids_or_a_filter_and_right_fields(server: Server) -> None:
    server.save(id="bulk-3", title="Tanker")
    for body, why in (
        ({}, "give a filter or a query"),
        ({"ids": ["bulk-3"], "query": "tanker"}, "not both"),
    ):
        problem(server.post(f"{API}/bulk/forget", body), 400, why)
    wrong = {"ids": ["bulk-3"], "change": {"colour": "red"}}
    problem(server.post(f"{API}/bulk/change", wrong), 400, "'colour' is not a field")
    gone = {"ids": ["bulk-3", "nothing"], "change": {"title": "x"}}
    problem(server.post(f"{API}/bulk/change", gone), 404, "'nothing'")
