"""A search prefers the project of the folder that the client has open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mcp_types as mcp
import pytest
from anyio.from_thread import start_blocking_portal
from mcp.client.client import Client
from mcp_sessions import McpSession, Mode, open_engine
from pydantic import FileUrl

from recollect import Recollect
from recollect.interfaces.mcp.server import build


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Recollect]:
    with open_engine(tmp_path) as memory:
        for project in ("alpha", "zeta"):
            memory.save(id=f"of-{project}", title="Releases are cut on Monday", project=project)
        yield memory


@contextmanager
def session(engine: Recollect, mode: Mode, answer: Any, asked: list[str]) -> Iterator[McpSession]:
    async def roots(context: Any) -> Any:
        asked.append("roots")
        return answer

    callback: Any = roots
    client = Client(build(lambda ctx: engine), mode=mode, list_roots_callback=callback)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(client) as held:
        yield McpSession(portal, held)


def first(session: McpSession) -> str:
    found = session.answer("memory_search", query="releases monday")["results"]
    assert len(found) == 2, "A preference filters nothing."
    return str(found[0]["id"])


@pytest.mark.parametrize("project", ["alpha", "zeta"])
def test_the_first_root_names_the_project_and_is_asked_for_once(
    engine: Recollect, tmp_path: Path, project: str
) -> None:
    folder, asked = tmp_path / "my work" / project, list[str]()
    folder.mkdir(parents=True)
    roots = [mcp.Root(uri=FileUrl(each.as_uri())) for each in (folder, tmp_path)]
    with session(engine, "legacy", mcp.ListRootsResult(roots=roots), asked) as held:
        assert [first(held), first(held)] == [f"of-{project}"] * 2
        saved = held.answer("memory_save", title="Nobody said which project this is of")
    assert asked == ["roots"]
    assert engine.show([saved["id"]])[0].project == ""


@pytest.mark.parametrize(
    "answer", [mcp.ListRootsResult(roots=[]), mcp.ErrorData(code=-32603, message="no")]
)
def test_a_client_without_roots_is_answered_as_before(engine: Recollect, answer: Any) -> None:
    asked: list[str] = []
    with session(engine, "legacy", answer, asked) as held:
        assert first(held) == first(held)
    assert asked == ["roots"]
