"""Results that no client can cause from outside: numbers equal to the library's, unexpected
failures."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any
from unittest import mock

import pytest
from mcp_sessions import McpSession, connect, fill, open_engine, text_of

from recollect import Recollect
from recollect.errors import Locked, RecollectError
from recollect.interfaces.mcp.server import build
from recollect.interfaces.mcp.stdio import Plain, VaultOpener
from recollect.present.response import as_json

SECRET = "the launch code is 0000"


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recollect]:
    home = tmp_path_factory.mktemp("home")
    fill(home)
    with open_engine(home) as memory:
        yield memory


@pytest.fixture(scope="module")
def session(engine: Recollect) -> Iterator[McpSession]:
    with connect(build(lambda ctx: engine), "2026-07-28") as held:
        yield held


def bare(response: Any) -> Any:
    """Without the milliseconds, which differ from one time to the next."""
    return {name: value for name, value in response.items() if name != "timings_ms"}


@pytest.mark.parametrize("recipe", ["blend", "vault", "echovault", "gnosis", "router", "covalence"])
def test_a_search_answers_what_the_library_answers(
    engine: Recollect, session: McpSession, recipe: str
) -> None:
    told = {"query": "token refresh", "recipe": recipe, "limit": 8, "project": "harbor-api"}
    found = session.answer("memory_search", **told, view="full", explain=True)
    wanted = engine.search(
        "token refresh", recipe=recipe, limit=8, project="harbor-api", view="full"
    )
    assert bare(found) == bare(as_json(wanted, explain=True))


def test_a_deep_search_answers_what_the_library_answers(
    engine: Recollect, session: McpSession
) -> None:
    asked = {"query": "auth tokens", "deep": True, "view": "preview", "explain": True}
    found = session.answer("memory_search", **asked)
    wanted = engine.search("auth tokens", recipe="gnosis", deep=True, limit=10, view="preview")
    assert bare(found) == bare(as_json(wanted, explain=True))


def test_an_unexpected_failure_tells_nothing_of_what_was_being_read(
    engine: Recollect,
    session: McpSession,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(*told: object, **named: object) -> None:
        raise ValueError(SECRET)

    monkeypatch.setattr(Recollect, "search", broken)
    monkeypatch.setattr(Recollect, "show", broken)
    with caplog.at_level(logging.DEBUG):
        result = session.call("memory_search", query="x")
        error = session.protocol_error(session.client.read_resource, "recollect://memory/x")
    assert result.is_error
    assert "ValueError at test_mcp_inside.py" in text_of(result)
    assert "ValueError at test_mcp_inside.py" in error.message
    assert SECRET not in text_of(result) + error.message + caplog.text
    assert session.answer("memory_list")["memories"]


def test_the_log_has_no_text_of_exceptions() -> None:
    try:
        raise ValueError(SECRET)
    except ValueError as error:
        held = (type(error), error, error.__traceback__)
    record = logging.LogRecord("mcp", logging.ERROR, "x.py", 1, "it\nbroke", (), held)
    assert Plain().format(record) == "recollect mcp: error: it broke (ValueError)"


def test_a_project_of_the_servers_own_is_meant_where_none_is_named(engine: Recollect) -> None:
    with connect(build(lambda ctx: engine, "ledger"), "legacy") as session:
        told = session.tools["memory_search"].input_schema["properties"]["project"]["description"]
        assert told == "Only this one. Preferred: ledger."
        told = session.tools["memory_list"].input_schema["properties"]["project"]["description"]
        assert told == 'Only this one. Default: ledger; "*": every one.'
        saved = session.answer("memory_save", title="Closing day is the fifth")
        other = session.answer("memory_save", title="Ships on Monday", project="lantern-web")
        own = {row["project"] for row in session.answer("memory_list", limit=100)["memories"]}
        every = session.answer("memory_list", limit=100, project="*")["memories"]
        alike = session.answer("memory_save", title="Ships on Monday", project="ledger")
        found = session.answer("memory_search", query="ships monday", limit=100)["results"]
        narrow = session.answer("memory_search", query="ships", project="ledger", limit=9)[
            "results"
        ]
        context = session.answer("memory_context")["memories"]
    assert engine.show([saved["id"]])[0].project == "ledger"
    assert engine.show([other["id"]])[0].project == "lantern-web"
    assert own == {"ledger"}
    assert {row.get("project") for row in every} > {"ledger", "lantern-web"}
    assert [each["id"] for each in found[:2]] == [alike["id"], other["id"]], "Not a filter."
    assert {each["project"] for each in narrow} == {"ledger"}
    core = [memory["project"] for memory in context if memory["tier"] == "core"]
    assert core == ["ledger", "", "", ""], "Core memories of no project are for every project."
    assert {memory["project"] for memory in context[len(core) :]} == {"ledger"}
    assert {memory["tier"] for memory in context[len(core) :]} == {"capture"}


def test_models_are_loaded_where_the_vault_can_be_opened(engine: Recollect) -> None:
    answers: list[Recollect | RecollectError] = [Locked("It is locked."), engine]

    def open_vault() -> Recollect:
        answer = answers.pop(0)
        if isinstance(answer, RecollectError):
            raise answer
        return answer

    vault = VaultOpener(open_vault)
    with mock.patch.object(Recollect, "warm_up") as loading:
        vault.warm_up()
        assert not loading.called
        vault.warm_up()
        assert loading.called
    assert vault.engine() is engine, "It is opened once."
