"""Capture: what a user said waits in the review, once, and becomes a memory when it is accepted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from http_thread import ThreadServer, threaded_server
from msgspec.structs import replace

from recollect.engine import Recollect
from recollect.engine.capture import AgentSession, UserTurn
from recollect.engine.review import ReviewItem
from recollect.errors import NotFound, UserError
from recollect.interfaces.cli.review import review_each
from recollect.interfaces.operations import plain
from recollect.settings import CaptureSettings, Embedding, Rerank, Settings
from recollect.settings_reading import load_settings
from recollect.store.rescue.repair import salvaging, write_vault

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
SESSION = AgentSession("claude-code", "s1", "harbor-api")
RULE = "Always run `make lint` before you commit anything."
PLACE = "/home/dev/.claude/s1.jsonl:7"
TURN = UserTurn(f"ok. {RULE}", PLACE, NOW - timedelta(days=1))


def open_memory(folder: Path, settings: Settings = OFF, **more: Any) -> Recollect:
    return Recollect(
        folder / "vault.db", home=folder, settings=settings, environment={}, clock=lambda: NOW,
        **more,
    )  # fmt: skip


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with open_memory(tmp_path) as held:
        yield held


@pytest.fixture
def captured(memory: Recollect) -> Recollect:
    memory.capture([TURN], SESSION)
    return memory


def waiting(memory: Recollect) -> list[ReviewItem]:
    return list(memory.review(kind="candidate").items)


def test_what_was_said_waits_first_in_the_review_and_is_not_found(memory: Recollect) -> None:
    memory.save(id="gone", title="Old", valid_until="2026-05-01T00:00:00Z")
    memory.capture([TURN], SESSION)
    candidate, expired = memory.review().items
    assert (candidate.kind, expired.kind) == ("candidate", "expired")
    assert candidate.choices == ("keep", "edit", "forget", "later")
    assert 'the form "always"' in candidate.why
    assert PLACE in candidate.why
    [said] = candidate.memories
    assert (said.text, said.kind, said.project) == (RULE, "preference", "harbor-api")
    assert [result.id for result in memory.search("make lint commit")] == []
    assert [one.id for one in memory.list()] == ["gone"]
    assert [one.id for one in memory.export()] == ["gone"]


def test_keeping_it_makes_a_memory_with_its_source(captured: Recollect) -> None:
    [item] = waiting(captured)
    done = captured.decide(item.id, "keep")
    [kept] = captured.list()
    assert done == f"Kept as {kept.id}."
    assert (kept.title, kept.text) == (RULE.rstrip("."), RULE)
    assert (kept.source, kept.path, kept.created_at) == ("claude-code", PLACE, TURN.at)
    assert waiting(captured) == []
    with pytest.raises(NotFound):
        captured.decide(item.id, "keep")


def test_an_edited_text_brings_its_own_title(captured: Recollect) -> None:
    [item] = waiting(captured)
    with pytest.raises(UserError, match="edit --text TEXT"):
        captured.decide(item.id, "edit")
    captured.decide(item.id, "edit", changes={"text": "run make lint before a commit."})
    [kept] = captured.list()
    assert (kept.title, kept.text) == (
        "Run make lint before a commit", "run make lint before a commit.",
    )  # fmt: skip


def test_what_is_forgotten_leaves_no_word_and_stays_away(
    captured: Recollect, tmp_path: Path
) -> None:
    captured.decide(waiting(captured)[0].id, "forget")
    captured.capture([TURN], SESSION)
    assert waiting(captured) == []
    assert captured.store.database.rows("SELECT fields, place FROM candidates") == [("", "")]
    captured.capture([TURN], SESSION._replace(id="s2"))
    assert len(waiting(captured)) == 1, "Who says it again in another session means it."


def test_later_is_a_week_and_an_agent_only_proposes(captured: Recollect) -> None:
    captured.propose(waiting(captured)[0].id, "forget")
    [item] = waiting(captured)
    assert item.proposed == "forget"
    captured.decide(item.id, "later")
    assert waiting(captured) == []


def test_keys_decide_on_the_terminal(
    captured: Recollect, capsys: pytest.CaptureFixture[str]
) -> None:
    review_each(captured, captured.review(), lambda question: "e", lambda text: f"{text} Always.")
    assert [one.text for one in captured.list()] == [f"{RULE} Always."]
    assert "Said in claude-code" in capsys.readouterr().out


def test_a_turn_is_captured_once_with_its_line_in_the_transcript(memory: Recollect) -> None:
    """At the prompt it is not in the transcript yet, and afterwards it is read from there."""
    memory.capture([UserTurn(TURN.text, "s1.jsonl:5")], SESSION)
    before = memory.store.changes()
    memory.capture([UserTurn(TURN.text, "s1.jsonl:5")], SESSION)
    assert memory.store.changes() == before, "Nothing is written where nothing is new."
    memory.capture([UserTurn(TURN.text, "s1.jsonl:6"), UserTurn(TURN.text, "s1.jsonl:6")], SESSION)
    [item] = waiting(memory)
    assert item.memories[0].path == "s1.jsonl:6"


def test_what_the_review_or_the_vault_says_already_is_left_out(memory: Recollect) -> None:
    memory.save(text="Never commit directly to main.", project="harbor-api")
    memory.save(title="I prefer short answers, no lists")
    other = AgentSession("codex", "s9", "harbor-api")
    memory.capture([TURN], SESSION)
    memory.capture([UserTurn("please always run `make lint` before you commit anything")], other)
    memory.capture([UserTurn("never commit directly to main!")], other)
    memory.capture([UserTurn("I prefer short answers, no lists")], other)
    assert len(waiting(memory)) == 1
    memory.capture([TURN], other._replace(project="tide"))
    memory.capture([UserTurn("never commit directly to the release branch")], other)
    assert len(waiting(memory)) == 3, "Another project, and another branch: other rules."


def test_secrets_are_replaced_before_anything_is_written(memory: Recollect) -> None:
    key = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
    memory.capture([UserTurn(f"remember that the deploy token is {key} on staging")], SESSION)
    assert key not in str(memory.store.database.rows("SELECT * FROM candidates"))
    assert key not in json.dumps(plain(memory.review()))


def test_a_trusted_form_is_saved_at_once(tmp_path: Path) -> None:
    trusting = replace(OFF, capture=CaptureSettings(trust="never, always"))
    with open_memory(tmp_path, trusting) as memory:
        memory.capture([TURN, UserTurn("I prefer rebase over merge commits")], SESSION)
        assert [item.memories[0].kind for item in waiting(memory)] == ["preference"]
        [kept] = memory.list()
        assert (kept.text, kept.path) == (RULE, PLACE)
        [version] = memory.history(kept.id)
        author = version.author
        assert (author.interface, author.client, author.automatic) == ("hook", "claude-code", True)
        memory.forget([kept.id])
        memory.capture([TURN], SESSION)
        assert memory.list() == []


def test_it_can_be_switched_off(tmp_path: Path) -> None:
    off = replace(OFF, capture=CaptureSettings(enabled=False, trust="all"))
    with open_memory(tmp_path, off) as memory:
        assert memory.capture([TURN], SESSION) == 0
        assert (waiting(memory), memory.list()) == ([], [])


@pytest.mark.parametrize("trust", ["sometimes", "always never", "ALL", "always,"])
def test_a_form_that_there_is_not_is_refused(tmp_path: Path, trust: str) -> None:
    with pytest.raises(UserError, match="from-now-on"):
        load_settings(tmp_path, {"RECOLLECT_CAPTURE__TRUST": trust})
    assert load_settings(tmp_path, {"RECOLLECT_CAPTURE__TRUST": "all"}).capture.trust == "all"


def test_a_backup_and_a_salvaged_vault_have_what_waits(captured: Recollect, tmp_path: Path) -> None:
    [item] = waiting(captured)
    captured.backup(tmp_path / "copy.db")
    with salvaging(captured.store.database, captured.path) as salvage:
        write_vault(salvage, tmp_path / "salvaged.db", None, NOW)
    for name in ("copy.db", "salvaged.db"):
        with Recollect(tmp_path / name, home=tmp_path, settings=OFF) as copy:
            assert [each.id for each in waiting(copy)] == [item.id]
            assert [finding for finding in copy.store.examine() if finding.problem] == []


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
