"""Failures that no request can cause from outside: an unexpected error, a broken vault."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anyio.from_thread import start_blocking_portal
from http_server import API, environment, problem
from starlette.types import ASGIApp

from recollect import Recollect
from recollect.errors import ProviderError, StoreError
from recollect.interfaces.app import create_app
from recollect.interfaces.http import logs
from recollect.interfaces.http.service import Service
from recollect.settings_reading import load_settings

SECRET = "what a memory says"
pytestmark = pytest.mark.usefixtures("log")


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Recollect]:
    told = environment(tmp_path)
    with Recollect(
        home=tmp_path, settings=load_settings(tmp_path, told), environment=told
    ) as opened:
        yield opened


@pytest.fixture
def log() -> Iterator[io.StringIO]:
    """Collect what the server logs; restore the earlier handlers afterwards."""
    loggers = [logging.getLogger(name) for name in ("recollect", "uvicorn", "mcp")]
    before = [(one.handlers, one.propagate, one.level) for one in loggers]
    told = io.StringIO()
    logs.set_up(told)
    yield told
    for one, (handlers, propagate, level) in zip(loggers, before, strict=True):
        one.handlers, one.propagate = handlers, propagate
        one.setLevel(level)


def get(app: ASGIApp, path: str, **headers: str) -> httpx2.Response:
    """Return the application's response, even if it raises afterwards."""

    async def ask() -> httpx2.Response:
        transport = httpx2.ASGITransport(app=app, raise_app_exceptions=False)
        async with httpx2.AsyncClient(
            transport=transport, base_url="http://localhost:7117"
        ) as client:
            return await client.get(path, headers=headers)

    # In a thread: the browser's tests keep a loop in this one.
    with start_blocking_portal() as portal:
        return portal.call(ask)


def raising(error: Exception) -> Any:
    def call(*args: object, **named: object) -> None:
        raise error

    return call


def test_an_unforeseen_error_is_a_500_and_its_text_is_told_nowhere(
    engine: Recollect, log: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Recollect, "show", raising(RuntimeError(SECRET)))
    answer = get(create_app(Service(engine)), f"{API}/memories/x")
    problem(answer, 500, "the log")
    lines = [json.loads(line) for line in log.getvalue().splitlines()]
    assert SECRET not in answer.text + log.getvalue()
    [error] = [line for line in lines if line["level"] == "error"]
    assert error["error"] == "RuntimeError"
    assert any("test_http_inside.py" in place for place in error["where"])
    assert {line["id"] for line in lines} == {answer.headers["x-request-id"]}
    [request] = [line for line in lines if line["event"] == "request"]
    assert request["status"] == 500


def test_an_unforeseen_error_is_a_page_for_a_browser(
    engine: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Recollect, "locate", raising(RuntimeError(SECRET)))
    answer = get(create_app(Service(engine)), "/memory/x", Accept="text/html")
    assert answer.status_code == 500
    assert answer.headers["content-type"].startswith("text/html")
    assert SECRET not in answer.text


def test_a_vault_that_cannot_be_read_now_is_a_503_that_says_when_to_ask_again(
    engine: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Recollect, "show", raising(StoreError("The vault is busy.")))
    answer = get(create_app(Service(engine)), f"{API}/memories/x")
    problem(answer, 503, "busy")
    assert int(answer.headers["retry-after"]) > 0


def test_a_model_that_does_not_deliver_is_a_502(
    engine: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = ProviderError("The model's server does not answer.", transient=True)
    monkeypatch.setattr(Recollect, "show", raising(error))
    problem(get(create_app(Service(engine)), f"{API}/memories/x"), 502, "does not answer")


def test_the_server_is_not_ready_until_its_models_are_loaded(engine: Recollect) -> None:
    service = Service(engine)
    answer = get(create_app(service), "/readyz")
    assert (answer.status_code, answer.json()["status"]) == (503, "not ready")
    assert answer.json()["reason"]
    service.warm.set()
    assert get(create_app(service), "/readyz").status_code == 200


def test_the_server_is_not_ready_while_its_vault_cannot_be_read(
    engine: Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    service = Service(engine)
    service.warm.set()
    monkeypatch.setattr(engine.store.database, "probe", raising(StoreError("The vault is gone.")))
    answer = get(create_app(service), "/readyz")
    assert (answer.status_code, answer.json()["reason"]) == (503, "The vault is gone.")
    assert answer.json()["dependencies"] == {"models": "ok", "database": "The vault is gone."}
    text = get(create_app(service), "/metrics").text
    assert 'recollect_dependency_up{dependency="database"} 0.0' in text
    assert 'recollect_dependency_up{dependency="models"} 1.0' in text
