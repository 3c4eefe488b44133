"""docs/reference/mcp.md says what the server offers, and how large its answers are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from mcp_sessions import McpSession, connect, fill, open_engine, text_of
from mcp_tokens import tokens
from msgspec import NODEFAULT, UNSET

from recollect.ingest.draft import FIELDS
from recollect.interfaces.mcp.arguments import FilterArguments, rare
from recollect.interfaces.mcp.calls import Tool
from recollect.interfaces.mcp.resources import FAMILIES, RECALL
from recollect.interfaces.mcp.server import build
from recollect.interfaces.mcp.tools import BY_NAME, TOOLS

PAGE = Path(__file__).parents[2].joinpath("docs", "reference", "mcp.md").read_text(encoding="utf-8")
ROW = re.compile(
    r"^\| `(?P<rare>options\.)?(?P<name>\w+)` \| (?P<default>[^|]*?) ?\|", re.MULTILINE
)
SIZE = re.compile(r"^\| (?P<what>[^|]+?) \| (?P<text>\d*) ?\| (?P<data>\d+) \|$", re.MULTILINE)
# So far an answer may be from what the page says of it before the page must be changed.
NEAR = 0.15
CALLS: dict[str, dict[str, object]] = {
    "`memory_search`": {"query": "how do we refresh tokens"},
    "`memory_context`": {"query": "auth"},
    "`memory_retrieve`, one memory": {"ids": ["auth-jwt-000"]},
    "`memory_list`": {},
    "`memory_save`": {"title": "Tokens are opaque", "text": "Clients must not look inside them."},
}


def section(name: str) -> str:
    found = re.search(rf"^### {re.escape(name)}$(.*?)(?=^##)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"{name} has no section"
    return found[1]


def test_every_tool_has_a_section_and_no_other_has_one() -> None:
    assert re.findall(r"^### `(\w+)`$", PAGE, re.MULTILINE) == [*BY_NAME]


@pytest.mark.parametrize("tool", TOOLS, ids=[*BY_NAME])
def test_a_section_lists_the_arguments_and_their_defaults(tool: Tool) -> None:
    text = section(f"`{tool.name}`")
    known = {field.name: field for field in msgspec.structs.fields(tool.arguments)}
    shared: set[str] = set()
    shared |= set(FilterArguments.__struct_fields__) if "(#filters)" in text else set()
    shared |= set(FIELDS) if "(memory-format.md)" in text else set()
    rows = {row["name"]: row for row in ROW.finditer(text)}
    assert set(rows) | (shared & set(known)) == set(known)
    for name, row in rows.items():
        assert bool(row["rare"]) is (name in rare(tool.arguments))
        default = known[name].default
        if known[name].required:
            assert row["default"] == "required"
        elif default is not UNSET and default != NODEFAULT and default:
            assert row["default"] == str(default)


def test_the_filters_are_those_there_are() -> None:
    rows = {row["name"] for row in ROW.finditer(section("Filters"))}
    assert rows == set(FilterArguments.__struct_fields__)
    filtering = [tool for tool in TOOLS if issubclass(tool.arguments, FilterArguments)]
    assert filtering
    for tool in filtering:
        text = " ".join(section(f"`{tool.name}`").split())
        [named] = re.findall(r"\(#filters\), (.*?) at the top level", text)
        assert set(re.findall(r"`(\w+)`", named)) == rows & set(tool.arguments.named), tool.name


def test_resources_and_the_prompt_are_named() -> None:
    for family in FAMILIES:
        assert f"| `{family.template}` |" in PAGE
    assert f"prompt `{RECALL}`" in PAGE


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[McpSession]:
    home = tmp_path_factory.mktemp("home")
    fill(home)
    with open_engine(home) as engine, connect(build(lambda ctx: engine), "legacy") as held:
        yield held


def near(measured: int, told: str) -> bool:
    return abs(measured - int(told)) <= max(NEAR * int(told), 15)


def test_answers_are_as_large_as_the_page_says(session: McpSession) -> None:
    rows = {row["what"]: row for row in SIZE.finditer(PAGE)}
    told = rows.pop("the names, descriptions and input schemas of the seven tools")
    offered = [[tool.name, tool.description, tool.input_schema] for tool in session.tools.values()]
    assert near(tokens(offered), told["data"]), tokens(offered)
    schemas = [tool.output_schema for tool in session.tools.values()]
    assert near(tokens(schemas), rows.pop("their output schemas")["data"]), tokens(schemas)
    assert set(rows) == set(CALLS)
    for what, row in rows.items():
        result = session.call(re.findall(r"`(\w+)`", what)[0], **CALLS[what])
        size = tokens(text_of(result)), tokens(result.structured_content)
        assert near(size[0], row["text"]), (what, size)
        assert near(size[1], row["data"]), (what, size)
