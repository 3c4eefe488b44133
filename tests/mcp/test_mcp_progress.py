"""Long work tells how far it is, and ends where its caller no longer waits."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp_sessions import MODES, Mode, connect, fill, open_engine

from recollect import Recollect
from recollect.errors import Cancelled
from recollect.interfaces.mcp.server import build
from recollect.stages.signal_sums import WeightedSum


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recollect]:
    home: Path = tmp_path_factory.mktemp("home")
    fill(home)
    with open_engine(home) as memory:
        yield memory


@pytest.mark.parametrize(
    ("tool", "given", "step"),
    [
        ("memory_search", {"query": "auth tokens", "deep": True}, "recall"),
        ("memory_review", {}, "compare by words"),
    ],
)
def test_a_client_that_asks_for_it_is_told_how_far_a_call_is(
    engine: Recollect, tool: str, given: dict[str, Any], step: str
) -> None:
    told: list[tuple[float, str | None]] = []

    async def progress(done: float, total: float | None, message: str | None) -> None:
        told.append((done, message))

    with connect(build(lambda ctx: engine), "legacy") as session:

        async def call() -> None:
            callback: Any = progress
            await session.client.call_tool(tool, given, progress_callback=callback)

        session.ask(call)
    assert step in [message for _, message in told]
    numbers = [done for done, _ in told]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("mode", MODES)
def test_a_cancelled_call_ends_at_its_next_step(
    engine: Recollect, mode: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, cancelled, ended = threading.Event(), threading.Event(), threading.Event()
    raised: list[BaseException] = []
    whole = Recollect.review

    def slow(memory: Recollect, **given: Any) -> Any:
        begun.set()
        assert cancelled.wait(60)
        try:
            while True:  # as many steps as it takes until the server has heard of it
                memory.session.step("compare")
        except Cancelled as error:
            raised.append(error)
            raise
        finally:
            ended.set()

    monkeypatch.setattr(Recollect, "review", slow)
    with connect(build(lambda ctx: engine, tools="all"), mode) as session:

        async def call() -> None:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(session.client.call_tool, "memory_review", {})
                await anyio.to_thread.run_sync(begun.wait)
                tasks.cancel_scope.cancel()

        session.ask(call)
        cancelled.set()
        assert ended.wait(60)
        monkeypatch.setattr(Recollect, "review", whole)
        assert "counts" in session.answer("memory_review")
    assert len(raised) == 1


def test_a_search_whose_caller_has_gone_begins_no_further_stage(
    engine: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    def step(what: str) -> None:
        steps.append(what)
        if len(steps) == 2:
            raise Cancelled("The call was cancelled.")

    steps: list[str] = []
    applied: list[object] = []
    monkeypatch.setattr(WeightedSum, "apply", lambda *given: applied.append(given))
    caller = engine.acting_as(engine.caller, step=step)
    with pytest.raises(Cancelled):
        caller.search("auth tokens", recipe="vault")
    assert steps[0] == "recall"
    assert applied == []
