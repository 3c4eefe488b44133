"""Resources, completion, the prompt and the instructions."""

from __future__ import annotations

import json
import tomllib
from urllib.parse import quote

import mcp_types as mcp
import pytest
from mcp_sessions import McpSession

from recollect.recipes.registry import BUILT_IN

ODD = "note/ä#1?x=%41"


def read(session: McpSession, uri: str) -> mcp.TextResourceContents:
    [content] = session.ask(session.client.read_resource, uri).contents
    assert isinstance(content, mcp.TextResourceContents)
    assert content.uri == uri
    return content


def test_both_kinds_of_resources_have_a_template(session: McpSession) -> None:
    templates = session.ask(session.client.list_resource_templates).resource_templates
    assert [one.uri_template for one in templates] == [
        "recollect://memory/{id}",
        "recollect://recipes/{name}",
    ]


def test_a_memory_is_read_as_json(session: McpSession) -> None:
    id = session.answer("memory_list", limit=1)["memories"][0]["id"]
    [memory] = session.answer("memory_retrieve", ids=[id])["memories"]
    content = read(session, f"recollect://memory/{quote(id, safe='')}")
    assert content.mime_type == "application/json"
    assert json.loads(content.text) == memory


def test_an_id_in_an_address_is_percent_encoded(session: McpSession) -> None:
    session.answer("memory_save", id=ODD, title="An odd id")
    content = read(session, f"recollect://memory/{quote(ODD, safe='')}")
    assert json.loads(content.text)["id"] == ODD


def test_every_recipe_is_listed_and_read_as_toml(session: McpSession) -> None:
    listed = {one.name: one for one in session.ask(session.client.list_resources).resources}
    assert list(listed) == list(BUILT_IN)
    for name, resource in listed.items():
        assert resource.description == BUILT_IN[name].about
        content = read(session, resource.uri)
        assert content.mime_type == "application/toml"
        assert tomllib.loads(content.text)["name"] == name


@pytest.mark.parametrize(
    "uri",
    [
        "recollect://memory/nobody",
        "recollect://recipes/soup",
        "recollect://memory/%FF",
        "recollect://memory/",
        "recollect://elsewhere/x",
        "file:///etc/passwd",
        "recollect://recipes/..%2Fconfig",
    ],
)
def test_what_is_not_there_is_an_error_that_says_so(session: McpSession, uri: str) -> None:
    error = session.protocol_error(session.client.read_resource, uri)
    modern = session.client.protocol_version == "2026-07-28"
    assert error.code == (mcp.INVALID_PARAMS if modern else -32002)
    assert error.message.startswith("There is no ")


def test_names_of_recipes_are_completed(session: McpSession) -> None:
    recipes = mcp.ResourceTemplateReference(uri="recollect://recipes/{name}")
    found = session.ask(session.client.complete, recipes, {"name": "name", "value": "bl"})
    assert found.completion.values == ["blend"]
    memories = mcp.ResourceTemplateReference(uri="recollect://memory/{id}")
    assert not session.ask(
        session.client.complete, memories, {"name": "id", "value": "a"}
    ).completion.values


def test_recall_asks_for_a_search_about_the_topic(session: McpSession) -> None:
    [prompt] = session.ask(session.client.list_prompts).prompts
    assert prompt.name == "recall"
    assert prompt.arguments is not None
    [argument] = prompt.arguments
    assert (argument.name, argument.required) == ("topic", True)
    [message] = session.ask(
        session.client.get_prompt, "recall", {"topic": "{token} refresh"}
    ).messages
    assert message.role == "user"
    assert isinstance(message.content, mcp.TextContent)
    assert "{token} refresh" in message.content.text
    assert "memory_search" in message.content.text


@pytest.mark.parametrize(
    ("name", "told", "part"),
    [
        ("recall", {}, "needs the argument topic"),
        ("recall", {"topic": "a", "about": "b"}, "'about' is not an argument"),
        ("remember", {"topic": "a"}, "There is no prompt 'remember'"),
    ],
)
def test_a_prompt_asked_for_wrongly_is_refused(
    session: McpSession, name: str, told: dict[str, str], part: str
) -> None:
    error = session.protocol_error(session.client.get_prompt, name, told)
    assert error.code == mcp.INVALID_PARAMS
    assert part in error.message


def test_the_server_says_what_it_is_for(session: McpSession) -> None:
    assert session.client.server_info is None or session.client.server_info.name == "recollect"
    if session.client.protocol_version != "2026-07-28":  # there it comes with a discovery
        assert session.client.instructions is not None
        assert "memory_search" in session.client.instructions
