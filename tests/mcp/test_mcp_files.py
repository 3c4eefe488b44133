"""Results from files through MCP: their place in the file, as data and as text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp_sessions import TRANSPORTS, McpSession, open_engine, text_of

TEXT = "# Gateway\n\n" + "\n".join(
    f"## {word}\n\n{f'What is known of {word} stands here. ' * 30}\n"
    for word in ("Ports", "Cranes")
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("beside") / "home"
    notes = folder.parent / "notes"
    notes.mkdir()
    (notes / "gate.md").write_text(TEXT)
    (notes / "two\nlines.md").write_text("The quokka sleeps.\n")
    with open_engine(folder) as memory:
        memory.add_folder(notes)
        memory.save(id="saved", title="The wombat digs")
    return folder


@pytest.fixture(scope="module", params=TRANSPORTS)
def files(request: pytest.FixtureRequest, home: Path) -> Iterator[McpSession]:
    with TRANSPORTS[request.param](home, "2026-07-28") as session:
        yield session


def test_a_result_says_where_it_stands(files: McpSession, home: Path) -> None:
    [found] = files.answer("memory_search", query="cranes")["results"]
    path = str(home.parent / "notes/gate.md")
    assert (found["file"], found["title"]) == (f"{path}:7", "Gateway › Cranes")
    assert "joined" not in found
    told = text_of(files.call("memory_search", query="cranes"))
    assert f"\nin {path}:7\n" in told


def test_neighbours_are_named(files: McpSession) -> None:
    [found] = files.answer("memory_search", query="what is known of cranes stands here")["results"]
    [other] = found["joined"]
    [memory] = files.answer("memory_retrieve", ids=[other])["memories"]
    assert found["file"] == f"{memory['path']}:9"


def test_a_name_of_two_lines_is_shown_in_one(files: McpSession, home: Path) -> None:
    told = text_of(files.call("memory_search", query="quokka"))
    assert f"\nin {home.parent}/notes/two lines.md:1\n" in told


def test_a_memory_of_no_file_has_no_place(files: McpSession) -> None:
    [found] = files.answer("memory_search", query="wombat")["results"]
    assert not {"file", "joined"} & found.keys()
    assert "\nin " not in text_of(files.call("memory_search", query="wombat"))
