"""Captured remarks wait in the review of the API and of the page, and are decided there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from http_thread import ThreadServer, threaded_server

from recollect.engine.capture import AgentSession, UserTurn

API = "/api/v1"
RULES = ("never push to main without asking me", "I prefer rebase over merge commits")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ThreadServer]:
    with threaded_server(tmp_path) as running:
        session = AgentSession("codex", "s1", "harbor-api")
        turns = [UserTurn(rule, f"rollout.jsonl:{n}") for n, rule in enumerate(RULES)]
        running.engine.capture(turns, session)
        yield running


def test_the_api_and_the_page_show_and_decide_it(server: ThreadServer) -> None:
    found = server.client.get(f"{API}/review", params={"kind": "candidate"}).json()
    assert found["counts"] == {"candidate": 2}
    items = {item["memories"][0]["text"]: item for item in found["items"]}
    never, prefer = (items[rule] for rule in RULES)
    assert never["why"] == 'Said in codex, in the form "never": rollout.jsonl:0.'
    assert never["choices"] == ["keep", "edit", "forget", "later"]

    page = server.client.get("/review", params={"items": "1"}).text
    assert all(rule in page for rule in RULES)
    assert "rollout.jsonl:1" in page
    assert f"/memory/{never['id']}" not in page, "It is no memory yet."

    body = {"decision": "edit", "changes": {"text": "ask before you push to main"}}
    done = server.client.post(f"{API}/review/{never['id']}", json=body).json()["done"]
    form = {"decision": "edit", "text": "rebase, do not merge"}
    answer = server.client.post(f"/review/{prefer['id']}", data=form)
    assert (done.split()[0], answer.status_code) == ("Kept", 303)
    assert {memory.text for memory in server.engine.list()} == {
        "ask before you push to main",
        "rebase, do not merge",
    }
