"""Results from files over HTTP: their place in the file, as JSON and on the page."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
from http_server import API, Server, serving

from recollect import Recollect
from recollect.settings import Embedding, Rerank, Settings

OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
TEXT = "# Gateway\n\n" + "\n".join(
    f"## {word}\n\n{f'What is known of {word} stands here. ' * 30}\n"
    for word in ("Ports", "Cranes")
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = tmp_path_factory.mktemp("home")
    notes = home.parent / "notes <of> &c"
    notes.mkdir()
    (notes / "gate.md").write_text(TEXT)
    (notes / "two\nlines.md").write_text("The quokka sleeps.\n")
    with Recollect(home=home, settings=OFF, environment={}) as memory:
        memory.add_folder(notes)
        memory.save(id="saved", title="The wombat digs")
    with serving(home) as started:
        yield started


@pytest.fixture
def notes(server: Server) -> Path:
    return server.home.parent / "notes <of> &c"


def test_a_result_says_where_it_stands(server: Server, notes: Path) -> None:
    [found] = server.search("cranes")["results"]
    assert found["file"] == {
        "path": str(notes / "gate.md"), "heading": "Gateway > Cranes", "line": 7, "lines": [7, 9],
    }  # fmt: skip
    assert "joined" not in found


def test_neighbours_are_named(server: Server) -> None:
    answer = server.search("what is known of cranes stands here")
    [found] = answer["results"]
    [other] = found["joined"]
    assert server.show(other).json()["context"].startswith("Gateway")
    assert found["file"]["lines"] == [7, 9]
    assert answer["counts"]["dropped"]["neighbour"] == 1


def test_a_memory_of_no_file_has_no_place(server: Server) -> None:
    [found] = server.search("wombat")["results"]
    assert not {"file", "joined"} & found.keys()


def test_a_search_in_the_address_says_the_same(server: Server) -> None:
    answer = server.get(f"{API}/search", params={"q": "cranes"}).json()
    assert answer["results"][0]["file"] == server.search("cranes")["results"][0]["file"]


def test_the_page_shows_it_in_one_line(server: Server, notes: Path) -> None:
    """The last folders and the line in the list, everything where the memory is read."""
    last = f"{notes.parent.name}/{notes.name}"
    for query, short, told in (
        ("cranes", f"{last}/gate.md:7", f"{notes}/gate.md:7-9, Gateway > Cranes"),
        ("quokka", f"{last}/two lines.md:1", f"{notes}/two lines.md:1"),
    ):
        [found] = server.search(query)["results"]
        page = server.get("/", params={"q": query}).text
        [line] = re.findall(r"<span [^>]*data-file[^>]*>(.*?)</span>", page)
        assert html.unescape(line) == short
        [link] = re.findall(r'<a href="(vscode:[^"]*)"[^>]*><span [^>]*data-file', page)
        assert " ".join(unquote(link).splitlines()).endswith(short), "It opens there."
        opened = server.get(f"/memory/{quote(found['id'])}").text
        [line] = re.findall(r"<p [^>]*data-place[^>]*><span [^>]*>(.*?)</span></p>", opened)
        assert html.unescape(line) == told
        assert "<of>" not in page + opened
    assert "data-file" not in server.get("/", params={"q": "wombat"}).text
