"""The person is asked whether what was saved replaces what was there, where the client can ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mcp_types as mcp
import pytest
from anyio.from_thread import start_blocking_portal
from mcp.client.client import Client
from mcp_sessions import MODES, McpSession, Mode, open_engine, serving, text_of

from recollect import Recollect
from recollect.interfaces.mcp.server import build

OLD, NEW = "Deploys run on Jenkins", "Deploys run on Buildkite"
Reply = Callable[[], mcp.ElicitResult | mcp.ErrorData]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Recollect]:
    """Its model is loaded and nothing is embedded beside, so that a save has its vector at once."""
    with open_engine(tmp_path, RECOLLECT_EMBEDDING__PROVIDER="builtin") as memory:
        memory.save(id="old", title=OLD)
        memory.embed_now()
    with open_engine(tmp_path, RECOLLECT_EMBEDDING__PROVIDER="builtin") as memory:
        memory.warm_up()
        yield memory


@contextmanager
def session(server: Any, mode: Mode, reply: Reply | None, asked: list[str]) -> Iterator[McpSession]:
    async def answer(ctx: Any, params: Any) -> mcp.ElicitResult | mcp.ErrorData:
        asked.append(params.message)
        assert reply is not None
        return reply()

    callback: Any = answer if reply else None
    client = Client(server, mode=mode, elicitation_callback=callback)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(client) as held,
    ):
        yield McpSession(portal, held)


def yes() -> mcp.ElicitResult:
    return mcp.ElicitResult(action="accept", content={"replace": True})


def decline() -> mcp.ElicitResult:
    return mcp.ElicitResult(action="accept", content={"replace": False})


def no() -> mcp.ElicitResult:
    return mcp.ElicitResult(action="decline")


def gone() -> mcp.ElicitResult:
    return mcp.ElicitResult(action="cancel")


def link(engine: Recollect) -> str:
    return engine.show(["old"])[0].superseded_by


@pytest.mark.parametrize("mode", MODES)
def test_yes_puts_what_was_saved_in_the_place_of_what_was_there(
    engine: Recollect, mode: Mode
) -> None:
    asked: list[str] = []
    with session(build(lambda ctx: engine), mode, yes, asked) as held:
        saved = held.call("memory_save", title=NEW)
    told = saved.structured_content
    assert asked == [f"“{NEW}” seems to replace “{OLD}”. Does it?"]
    assert (told["outcome"], told["superseded"]) == ("added", ["old"])
    assert "similar" not in told
    assert "It replaces old." in text_of(saved)
    assert link(engine) == told["id"]
    assert [version.action for version in engine.history(told["id"])] == ["save"]


@pytest.mark.parametrize("reply", [no, gone, decline])
@pytest.mark.parametrize("mode", MODES)
def test_no_and_no_reply_keep_both_and_the_answer_has_the_hint(
    engine: Recollect, mode: Mode, reply: Reply
) -> None:
    asked: list[str] = []
    with session(build(lambda ctx: engine), mode, reply, asked) as held:
        saved = held.call("memory_save", title=NEW)
    told = saved.structured_content
    assert len(asked) == 1
    assert told["outcome"] == "added"
    assert told["similar"] == [{"id": "old", "title": OLD, "why": "seems to replace"}]
    assert f"memory_update id=old superseded_by={told['id']}" in text_of(saved)
    assert link(engine) == ""
    assert engine.show([told["id"]])[0].title == NEW


def test_a_failed_question_does_not_lose_the_save(engine: Recollect) -> None:
    def broken() -> mcp.ErrorData:
        return mcp.ErrorData(code=mcp.INTERNAL_ERROR, message="No window.")

    with session(build(lambda ctx: engine), "legacy", broken, []) as held:
        saved = held.answer("memory_save", title=NEW)
    assert (saved["outcome"], link(engine)) == ("added", "")
    assert engine.show([saved["id"]])[0].title == NEW


@pytest.mark.parametrize("mode", MODES)
def test_who_cannot_be_asked_or_says_what_it_replaces_is_not_asked(
    engine: Recollect, mode: Mode
) -> None:
    asked: list[str] = []
    with session(build(lambda ctx: engine), mode, None, asked) as held:
        hinted = held.answer("memory_save", title=NEW)
    assert hinted["similar"][0]["why"] == "seems to replace"
    engine.forget([hinted["id"]])
    with session(build(lambda ctx: engine), mode, no, asked) as held:
        held.answer("memory_save", title="Deploys run on Gitlab", supersedes="old")
    assert asked == []


@pytest.mark.parametrize(("mode", "replaced"), [("legacy", False), ("2026-07-28", True)])
def test_stateless_http_asks_where_the_protocol_has_a_way(
    engine: Recollect, mode: Mode, replaced: bool
) -> None:
    asked: list[str] = []
    with serving(engine) as url, session(url, mode, yes, asked) as held:
        saved = held.answer("memory_save", title=NEW)
    assert (bool(asked), link(engine) == saved["id"]) == (replaced, replaced)
