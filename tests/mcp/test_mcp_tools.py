"""The tools, over stdio and over HTTP, by both ways to connect."""

from __future__ import annotations

import json
import re
from typing import Any

import mcp_types as mcp
import pytest
from mcp_sessions import NOW, McpSession, text_of

from recollect.interfaces.signatures import parameters_of
from recollect.memory_json import LATER
from recollect.present.response import VIEWS
from recollect.types import Filter, Memory, Search

READS = {
    "memory_search", "memory_context", "memory_retrieve", "memory_list", "search", "fetch",
    "memory_timeline",
}  # fmt: skip
WRITES = {
    "memory_save",
    "memory_update",
    "memory_forget",
    "memory_feedback",
    "memory_review",
}
CHANGING = {"memory_update", "memory_forget", "memory_review"}
QUERY = "how do we refresh tokens"


def save(session: McpSession, **fields: object) -> str:
    id: str = session.answer("memory_save", **fields)["id"]
    return id


def whole(session: McpSession, id: str) -> Any:
    [memory] = session.answer("memory_retrieve", ids=[id])["memories"]
    return memory


def test_each_tool_says_what_it_may_do(session: McpSession) -> None:
    assert set(session.tools) == READS | WRITES
    for name, tool in session.tools.items():
        hints = tool.annotations
        assert hints is not None
        assert hints.read_only_hint is (name in READS)
        assert hints.destructive_hint is (name in CHANGING)
        assert hints.idempotent_hint is (name != "memory_update"), "It may append."
        assert hints.open_world_hint is False
        assert hints.title
        assert tool.description


def test_every_argument_is_described(session: McpSession) -> None:
    assert session.tools
    for name, tool in session.tools.items():
        assert tool.input_schema["properties"], name
        for argument, schema in tool.input_schema["properties"].items():
            assert schema["description"], f"{name}: {argument}"
            assert schema["type"], f"{name}: {argument}: some clients refuse one without a type"
        assert not {"anyOf", "oneOf", "allOf"} & set(tool.input_schema), "some clients refuse these"


def test_a_description_says_what_an_argument_is_for_not_how_long_it_may_be(
    session: McpSession,
) -> None:
    described = {
        f"{name}.{argument}": schema["description"]
        for name, tool in session.tools.items()
        for argument, schema in tool.input_schema["properties"].items()
    }
    assert described["memory_save.title"] == "One line."
    assert described["memory_save.text"] == "A few sentences."
    assert described["memory_update.section"] == "Heading below which text goes."
    assert not [each for each in described.items() if "UTF-8" in each[1]]


def test_a_search_answers_briefly_and_says_how_good_it_is(session: McpSession) -> None:
    response = session.answer("memory_search", query=QUERY)
    assert 1 <= len(response["results"]) <= 10
    assert response["evidence"] in ("strong", "weak", "none")
    assert not {"query", "counts", "topics", "timings_ms", "recipe", "intent"} & set(response)
    first = response["results"][0]
    assert {"id", "title", "kind", "project", "date", "score", "passage"} == set(first)
    assert first["score"] == round(first["score"], 3)


def test_a_result_is_two_lines_and_the_passage_that_matched(session: McpSession) -> None:
    text = text_of(
        session.call("memory_search", query="15-minute JWT opaque refresh token", limit=1)
    )
    title, about, passage, *_ = text.splitlines()
    assert title == "1. > Access tokens are 15-minute RS256 JWTs with rotating refresh tokens"
    assert about == "decision · harbor-api · 2026-01-26 · auth-jwt-001"
    assert passage.startswith("> ")
    assert "opaque refresh token" in passage


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_is_what_the_schema_says(session: McpSession, view: str) -> None:
    response = session.answer("memory_search", query=QUERY, view=view, limit=3, explain=True)
    assert response["view"] == view
    for result in response["results"]:
        assert result["explain"]["value"] == result["score"]


@pytest.mark.parametrize("explain", [False, True])
def test_no_answer_has_the_marks_that_a_page_shows(session: McpSession, explain: bool) -> None:
    given = {"query": "refresh token", "recipe": "router", "view": "snippet", "explain": explain}
    answer = session.call("memory_search", **given)
    assert answer.structured_content is not None
    snippets = [result["snippet"] for result in answer.structured_content["results"]]
    assert any("refresh" in snippet for snippet in snippets)
    assert "mark>" not in json.dumps(answer.structured_content) + text_of(answer)


def test_the_text_of_a_search_names_every_result(session: McpSession) -> None:
    result = session.call("memory_search", query=QUERY)
    assert result.structured_content is not None
    for found in result.structured_content["results"]:
        assert f" · {found['id']}\n" in text_of(result)


def test_filters_and_preferences_reach_the_engine(session: McpSession) -> None:
    response = session.answer(
        "memory_search", query=QUERY, project="harbor-api", prefer_tags=["auth"], limit=50
    )
    ids = [result["id"] for result in response["results"]]
    memories = session.answer("memory_retrieve", ids=ids[:20])["memories"]
    assert {memory["project"] for memory in memories} == {"harbor-api"}


def test_a_deep_search_is_that_of_gnosis(session: McpSession) -> None:
    asked = {"query": "auth tokens refresh", "deep": True, "limit": 5}
    response = session.answer("memory_search", **asked, options={"explain": True})
    assert response["recipe"] == "gnosis"
    assert session.answer("memory_search", **asked)["results"]


def test_rare_arguments_stand_in_options_or_beside_the_others(session: McpSession) -> None:
    offered = session.tools["memory_search"].input_schema["properties"]
    assert "as_of" not in offered
    assert "as_of" in offered["options"]["description"]
    for given in ({"options": {"view": "pointer"}}, {"view": "pointer"}):
        [found] = session.answer("memory_search", query=QUERY, limit=1, **given)["results"]
        assert "what" in found
    sentence = session.call_error("memory_search", query=QUERY, options={"vew": "full"})
    assert "'vew' is not an argument of memory_search" in sentence
    assert "options takes: explain, source" in sentence
    refused = session.call_error("memory_search", query=QUERY, options=["full"])
    assert "options must be an object" in refused


DECLARED = {"memory_search": Search, "memory_list": Filter, "memory_save": Memory}


@pytest.mark.parametrize("name", DECLARED)
def test_every_field_that_is_declared_for_interfaces_is_an_argument(
    session: McpSession, name: str
) -> None:
    """A refusal lists all arguments."""
    fields = [*parameters_of(DECLARED[name])]
    known = session.call_error(name, nonesuch=1).partition("arguments are: ")[2]
    assert len(fields) > 10
    assert set(fields) <= set(re.findall(r"\w+", known))


def test_facets_are_counted_where_they_are_asked_for(session: McpSession) -> None:
    told = session.call("memory_search", query=QUERY, facets=True)
    assert told.structured_content is not None
    assert told.structured_content["facets"]["project"]["harbor-api"] > 0
    assert re.search(r"^project: .*harbor-api \d+", text_of(told), re.MULTILINE)
    assert "facets" not in session.answer("memory_search", query=QUERY)


def test_search_and_fetch_are_what_connectors_ask_for(session: McpSession) -> None:
    """One text that is JSON, and the same as data: id, title and url; then text and metadata."""
    called = session.call("search", query="token lifetime")
    found = session.answer("search", query="token lifetime")
    assert json.loads(text_of(called)) == found
    first = found["results"][0]
    assert set(first) == {"id", "title", "url"}
    assert first["url"] == f"recollect://memory/{first['id']}"
    document = session.answer("fetch", id=first["id"])
    assert json.loads(text_of(session.call("fetch", id=first["id"]))) == document
    assert set(document) == {"id", "title", "text", "url", "metadata"}
    assert {name: document[name] for name in first} == first
    assert whole(session, first["id"])["text"] in document["text"]
    assert "nobody" in session.call_error("fetch", id="nobody")
    assert "is not an argument of search" in session.call_error("search", query="a", limit=3)


MEANT: list[tuple[str, dict[str, object], dict[str, object]]] = [
    ("memory_search", {"query": QUERY, "limit": "3"}, {"query": QUERY, "limit": 3}),
    ("memory_search", {"query": QUERY, "limit": 3.0}, {"query": QUERY, "limit": 3}),
    ("memory_search", {"query": QUERY, "deep": "no"}, {"query": QUERY}),
    ("memory_search", {"query": QUERY, "tags": "auth"}, {"query": QUERY, "tags": ["auth"]}),
    ("memory_search", {"query": QUERY, "options": '{"view": "full"}'},
     {"query": QUERY, "view": "full"}),
    ("memory_list", {"tags": "auth, api"}, {"tags": ["auth", "api"]}),
    ("memory_list", {"tags": '["auth"]'}, {"tags": ["auth"]}),
    ("memory_list", {"since": "yesterday"}, {"since": "2026-02-28"}),
    ("memory_list", {"since": "last week"}, {"since": "2026-02-16"}),
    ("memory_retrieve", {"ids": "auth-jwt-001"}, {"ids": ["auth-jwt-001"]}),
    ("memory_retrieve", {"ids": "auth-jwt-001", "history": "yes"},
     {"ids": ["auth-jwt-001"], "history": True}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "meant"), MEANT)
def test_what_is_plainly_meant_is_understood(
    session: McpSession, name: str, given: dict[str, object], meant: dict[str, object]
) -> None:
    assert session.answer(name, **given) == session.answer(name, **meant)


def test_a_project_that_is_not_there_is_refused_with_those_that_may_be_meant(
    session: McpSession,
) -> None:
    for name, given in {"memory_search": {"query": QUERY}, "memory_list": {}}.items():
        sentence = session.call_error(name, project="harbor", **given)
        assert sentence == "There is no project 'harbor'; did you mean harbor-api?"
        assert "there are: " in session.call_error(name, project="zzz", **given)
    nothing = session.answer("memory_search", query=QUERY, project="harbor-api", since="2026-03-01")
    assert nothing["results"] == [], "There is such a project."


def test_kinds_projects_and_tags_are_found_however_they_are_spelled(session: McpSession) -> None:
    meant = session.answer("memory_list", kind="decision", project="harbor-api", tags=["auth"])
    assert meant["memories"]
    assert meant == session.answer(
        "memory_list", kind="Decisions", project="Harbor-API", tags=["AUTH"]
    )
    for name, given in {"memory_search": {"query": QUERY}, "memory_list": {}}.items():
        assert "did you mean decision?" in session.call_error(name, kind="decison", **given)
        assert "did you mean auth?" in session.call_error(name, tags=["auht"], **given)


def test_null_counts_as_not_given(session: McpSession) -> None:
    told = {"query": QUERY, "limit": None, "project": None, "tags": None}
    assert session.answer("memory_search", **told)["results"]


def test_context_keeps_to_its_budget_and_says_what_was_left_out(session: McpSession) -> None:
    all_of_it = session.answer("memory_context", query="auth", limit=10, max_tokens=100_000)
    little = session.call("memory_context", query="auth", limit=10, max_tokens=60)
    assert little.structured_content is not None
    assert all_of_it["left_out"] == 0
    assert little.structured_content["left_out"] > 0
    assert "more not shown" in text_of(little)
    assert len(little.structured_content["memories"]) < len(all_of_it["memories"])


def test_a_memory_is_saved_whole_and_read_back(session: McpSession) -> None:
    fields = {
        "title": "Rotate the signing key",
        "text": "Every ninety days.",
        "why": "The auditors ask.",
        "details": "Line one.\nLine two.",
        "tags": ["keys", "audit"],
        "kind": "decision",
        "severity": "warning",
        "project": "vaulted",
        "valid_until": "2027-01-01",
    }
    memory = whole(session, save(session, **fields))
    assert list(memory) == [name for name in Memory.__struct_fields__ if name not in LATER]
    assert memory["valid_until"] == "2027-01-01T00:00:00Z"
    assert memory["created_at"] == NOW
    assert {name: memory[name] for name in fields if name != "valid_until"} == {
        name: value for name, value in fields.items() if name != "valid_until"
    }


def test_what_repeats_a_memory_updates_it_and_says_so(session: McpSession) -> None:
    words = "The staging database is restored from the production snapshot each Sunday night."
    first = save(session, title="Staging restore", text=words, project="repeats")
    again = session.call(
        "memory_save", title="Staging Restore", text=words, project="repeats", tags=["ops"]
    )
    assert again.structured_content is not None
    assert again.structured_content["id"] == first
    assert again.structured_content["outcome"] == "updated"
    assert again.structured_content["repeated"] is True
    assert "repeats" in text_of(again)
    assert "instead of adding a second one" in text_of(again)


def test_an_id_of_ones_own_is_kept(session: McpSession) -> None:
    assert save(session, id="note/ä#1", title="An odd id") == "note/ä#1"
    assert whole(session, "note/ä#1")["title"] == "An odd id"


def test_an_update_changes_what_it_names_and_nothing_else(session: McpSession) -> None:
    id = save(session, title="Retry twice", text="Then give up.", tags=["http"], project="updates")
    changed = session.answer(
        "memory_update", id=id, text="Then fall back.", add_tags=["retry"], clear=["project"]
    )
    assert changed["changed"] == ["text", "tags", "project"]
    memory = whole(session, id)
    assert (memory["title"], memory["text"]) == ("Retry twice", "Then fall back.")
    assert (memory["tags"], memory["project"]) == (["http", "retry"], "")
    assert session.answer("memory_update", id=id, text="Then fall back.")["changed"] == []


def test_what_is_forgotten_is_gone_until_it_is_brought_back(session: McpSession) -> None:
    id = save(session, title="Zanzibar is the code name")
    assert session.answer("memory_forget", ids=[id, id])["ids"] == [id]
    assert id in session.call_error("memory_retrieve", ids=[id])
    assert session.answer("memory_forget", ids=[id], undo=True)["outcome"] == "restored"
    assert whole(session, id)["title"] == "Zanzibar is the code name"


def test_feedback_is_counted(session: McpSession) -> None:
    id = save(session, title="Use tabs in Makefiles")
    before = session.answer("memory_feedback", query="tabs or spaces", id=id, accepted=True)
    after = session.answer("memory_feedback", query="tabs or spaces", id=id, accepted=False)
    assert after == {
        "accepted": before["accepted"] - 1, "dismissed": before["dismissed"] + 1,
    }  # fmt: skip
    undone = session.answer("memory_feedback", query="Tabs or spaces?", id=id, undo=True)
    assert undone == after | {"dismissed": before["dismissed"]}
    assert "no feedback" in session.call_error(
        "memory_feedback", query="tabs or spaces", id=id, undo=True
    )
    assert "accept it" in session.call_error("memory_feedback", query="tabs or spaces", id=id)


def test_pages_follow_each_other_without_gap_even_where_a_page_was_forgotten(
    session: McpSession,
) -> None:
    ids = {save(session, title=f"Page {number}", project="pages") for number in range(5)}
    seen: list[str] = []
    after: str | None = None
    for _ in range(3):
        page = session.answer("memory_list", project="pages", limit=2, after=after)
        seen += [row["id"] for row in page["memories"]]
        session.answer("memory_forget", ids=[row["id"] for row in page["memories"]])
        after = page["next"]
    assert (set(seen), len(seen), after) == (ids, 5, None)


def test_a_list_goes_on_behind_an_id_too(session: McpSession) -> None:
    everything = [row["id"] for row in session.answer("memory_list", limit=4)["memories"]]
    rest = session.answer("memory_list", limit=2, after=everything[1])["memories"]
    assert [row["id"] for row in rest] == everything[2:]


def test_a_part_of_an_id_is_the_memory_that_alone_has_it(session: McpSession) -> None:
    id = save(session, title="Named by its end")
    part = id.rpartition("-")[2]
    assert session.answer("memory_retrieve", ids=[part])["memories"][0]["id"] == id
    assert session.answer("memory_update", id=part, text="Changed")["id"] == id


REFUSALS = [
    ("memory_search", {}, "needs the argument query"),
    ("memory_search", {"query": "a", "limt": 3}, "'limt' is not an argument"),
    ("memory_search", {"query": "a", "limit": 0}, "limit must be at least 1"),
    ("memory_search", {"query": "a", "limit": "nine"}, "limit must be a whole number, not 'nine'"),
    ("memory_search", {"query": "a", "view": "wide"}, "allowed are: scan, full, pointer"),
    ("memory_search", {"query": "a", "recipe": "soup"}, "There is no recipe 'soup'"),
    ("memory_search", {"query": "a", "since": "yesterdayish"}, "since 'yesterdayish'"),
    ("memory_save", {"tags": ["x"]}, "needs a title or a text"),
    ("memory_save", {"title": "a", "severity": "huge"}, "severity cannot be 'huge'"),
    ("memory_save", {"title": "a", "valid_until": "soon"}, "valid_until 'soon' is not a time"),
    ("memory_retrieve", {"ids": []}, "ids: expected array of length >= 1"),
    ("memory_retrieve", {"ids": ["nobody"]}, "There is no memory 'nobody'"),
    ("memory_update", {"id": "nobody", "text": "x"}, "There is no memory 'nobody'"),
    ("memory_update", {"id": "nobody"}, "Nothing to change"),
    (
        "memory_update",
        {"id": "nobody", "clear": ["id"]},
        "clear cannot be 'id'; allowed are",
    ),
    ("memory_forget", {"ids": ["nobody"]}, "There is no memory 'nobody'"),
    ("memory_forget", {"ids": ["nobody"], "undo": True}, "is not in the trash"),
    ("memory_feedback", {"query": "q", "id": "nobody", "accepted": True}, "no memory 'nobody'"),
    (
        "memory_feedback",
        {"query": "q", "id": "x", "accepted": "maybe"},
        "accepted must be true or false",
    ),
    ("memory_list", {"after": "nobody"}, "There is no memory 'nobody'"),
]


@pytest.mark.parametrize(("name", "told", "part"), REFUSALS)
def test_a_bad_call_is_refused_in_one_sentence(
    session: McpSession, name: str, told: dict[str, object], part: str
) -> None:
    assert part in session.call_error(name, **told)


def test_a_tool_that_does_not_exist_is_the_protocols_error(session: McpSession) -> None:
    error = session.protocol_error(session.client.call_tool, "memory_burn", {})
    assert error.code == mcp.INVALID_PARAMS
    assert "There is no tool 'memory_burn'" in error.message
