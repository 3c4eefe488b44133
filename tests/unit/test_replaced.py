"""Memories that seem to be replaced, in every interface."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import httpx2
import pytest
from anyio.from_thread import start_blocking_portal

from recollect import Recollect
from recollect.interfaces.app import create_app
from recollect.interfaces.http.service import Service
from recollect.interfaces.mcp.texts import response_text
from recollect.present.response import as_json
from recollect.settings import Rerank, Settings
from recollect.types import recompute

NOW = datetime(2026, 11, 16, tzinfo=UTC)
MEMORIES = {
    "neovim": ("2026-01-09", "I use Neovim as my editor", "With lazy.nvim."),
    "zed": ("2026-08-14", "Switched to Zed as my editor", "Neovim plugins broke once too often."),
    "fish": ("2026-02-02", "Fish is my login shell", "Abbreviations instead of aliases."),
    "commits": ("2026-02-03", "Commits: one thought each", "The message says why."),
    "bike": ("2026-02-04", "The bike is in the shed", "The lock is at the door."),
    "dentist": ("2026-02-05", "The dentist moved", "Now in the second street."),
    "tea": ("2026-02-06", "Green tea at eighty degrees", "Two minutes."),
    "printer": ("2026-02-07", "The printer needs A4", "Tray two."),
}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recollect]:
    settings = Settings(rerank=Rerank(provider="none"))
    home = tmp_path_factory.mktemp("home")
    with Recollect(home=home, settings=settings, clock=lambda: NOW) as opened:
        for id, (day, title, text) in MEMORIES.items():
            tags = ["editor"] if id in ("neovim", "zed") else [id]
            opened.save(id=id, title=title, text=text, tags=tags, created_at=day, updated_at=day)
        opened.embed_now()
        yield opened


def test_the_newer_comes_first_and_each_names_the_other(memory: Recollect) -> None:
    response = memory.search("which editor do I use")
    ids = [result.id for result in response]
    assert ids.index("zed") < ids.index("neovim")
    shown = {one["id"]: one for one in as_json(response)["results"]}
    zed = {"id": "zed", "updated_at": "2026-08-14T00:00:00Z"}
    assert shown["zed"]["seems_to_replace"] == [
        {"id": "neovim", "updated_at": "2026-01-09T00:00:00Z"}
    ]
    assert shown["neovim"]["seems_replaced_by"] == zed
    assert not {"replaces", "superseded_by"} & {*shown["zed"], *shown["neovim"]}, "Nobody said so."
    memory.supersede("neovim", "zed")
    linked = {one["id"]: one for one in as_json(memory.search("which editor do I use"))["results"]}
    memory.edit("neovim", superseded_by=None, valid_until=None)
    assert linked["neovim"]["superseded_by"] == zed
    assert not {"seems_to_replace", "seems_replaced_by"} & {*linked["zed"], *linked["neovim"]}
    assert all(recompute(result.explain) == result.score for result in response)


@pytest.mark.parametrize(
    "query",
    ["what editor did I use before", "which editor did I use in spring", "my former editor"],
)
def test_a_question_about_the_past_gets_the_older(memory: Recollect, query: str) -> None:
    ids = [result.id for result in memory.search(query)]
    assert ids.index("neovim") < ids.index("zed")


def test_as_of_a_past_day_nothing_is_replaced(memory: Recollect) -> None:
    found = memory.search("which editor do I use", now=datetime(2026, 3, 1, tzinfo=UTC))
    assert not any(result.seems_replaced_by or result.seems_to_replace for result in found)


def test_a_belief_is_not_said_in_the_text_of_a_search(memory: Recollect) -> None:
    assert "seems" not in response_text(memory.search("which editor do I use"), explain=False)
    app = create_app(Service(memory))

    async def ask() -> str:
        transport = httpx2.ASGITransport(app=app)
        async with httpx2.AsyncClient(
            transport=transport, base_url="http://localhost:7117"
        ) as client:
            return (await client.get("/?q=which+editor+do+I+use")).text

    with start_blocking_portal() as portal:
        page = portal.call(ask)
    assert "/memory/zed" in page
    assert "eems to" not in page


def test_a_context_leaves_out_what_is_replaced(memory: Recollect) -> None:
    for query in ("", "which editor do I use"):
        found = [each.id for each in memory.context(query).memories]
        assert "zed" in found
        assert "neovim" not in found
