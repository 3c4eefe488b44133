"""Hooks keep what the user says outright: from the prompt, and from the transcript."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from commandline import Home, home_and_project

from recollect import Recollect
from recollect.interfaces.hooks import answers

RULE = "never push to main without asking me"
OTHER = "I prefer rebase over merge commits"
PASSPHRASE = "correct horse battery"


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Home]:
    with home_and_project(monkeypatch) as made:
        made.import_memories({"id": "first", "title": "A first note"})
        yield made


def hook(home: Home, name: str, client: str = "claude-code", **values: object) -> None:
    """The agent is undisturbed, whatever is captured."""
    event = {"session_id": "s1", "sessionId": "s1", "cwd": str(Path.cwd())} | values
    ran = home.call("hook", name, "--client", client, stdin=json.dumps(event).encode())
    assert (ran.code, ran.err) == (0, "")


def said(home: Home) -> list[dict[str, Any]]:
    """Return the remarks that wait in the review, with their places."""
    items = home.call("review", "--kind", "candidate", "--json").json()["items"]
    return [item["memories"][0] for item in items]


def transcript(home: Home, *turns: str, name: str = "s1.jsonl") -> Path:
    file = home.folder / name
    lines = [
        {"type": "user", "sessionId": "s1", "cwd": "/x", "timestamp": "2026-02-01T10:00:00Z",
         "message": {"role": "user", "content": turn}}
        for turn in turns
    ]  # fmt: skip
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    return file


def log(home: Home) -> str:
    file = home.folder / "hooks" / "hooks.log"
    return file.read_text(encoding="utf-8") if file.exists() else ""


def test_a_prompt_is_captured_with_its_project_and_place(home: Home) -> None:
    file = transcript(home, "hello")
    hook(home, "BeforeAgent", "gemini-cli", prompt=f"ok. {RULE}", transcript_path=str(file))
    [found] = said(home)
    assert (found["text"], found["project"]) == (RULE, "harbor-api")
    assert (found["source"], found["path"]) == ("gemini-cli", f"{file}:2")
    assert home.call("search", "push to main", "--json").json()["results"] == []


def test_a_prompt_in_no_form_counts_no_lines(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "transcript_position", lambda *asked: pytest.fail("It is read."))
    for prompt in ("fix the failing test", None):
        hook(home, "BeforeAgent", "gemini-cli", prompt=prompt, transcript_path="/dev/null")
    assert said(home) == []


def test_without_server_prompts_are_read_later(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    file = transcript(home, RULE)
    with monkeypatch.context() as patch:
        patch.setattr(Recollect, "capture", lambda *asked, **more: pytest.fail("It is captured."))
        hook(home, "UserPromptSubmit", prompt=RULE, transcript_path=str(file))
        hook(home, "SessionStart", "codex", transcript_path=str(file), source="resume")
    hook(home, "Stop", transcript_path=str(file))
    assert [one["path"] for one in said(home)] == [f"{file}:1"]


def test_the_transcript_brings_what_no_prompt_did_and_nothing_twice(home: Home) -> None:
    """GitHub Copilot CLI has no hook at a prompt that could be used."""
    hook(home, "UserPromptSubmit", prompt=RULE)
    file = transcript(
        home, "hello", RULE, f"thanks! {OTHER}", "<system-reminder>x</system-reminder>"
    )
    for _ in range(2):
        hook(home, "Stop", transcript_path=str(file))
        assert {one["text"]: one["path"] for one in said(home)} == {
            RULE: f"{file}:2",
            OTHER: f"{file}:3",
        }
    [found] = [one for one in said(home) if one["text"] == OTHER]
    assert found["created_at"] == "2026-02-01T10:00:00Z"
    events = home.folder / "events.jsonl"
    typed = {"type": "user.message", "data": {"content": "always use tabs in Makefiles"}}
    events.write_text(json.dumps(typed) + "\n", encoding="utf-8")
    hook(home, "agentStop", "copilot-cli", transcriptPath=str(events))
    assert [one["source"] for one in said(home)].count("copilot-cli") == 1
    assert log(home) == ""


def test_only_new_transcript_lines_are_read(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    file = transcript(home, RULE)
    hook(home, "Stop", transcript_path=str(file))
    size = file.stat().st_size
    monkeypatch.setattr(Recollect, "capture", lambda self, turns, session: asked.append(turns))
    asked: list[Any] = []
    with file.open("a", encoding="utf-8") as stream:
        stream.write(transcript(home, OTHER, name="other.jsonl").read_text(encoding="utf-8"))
    assert file.stat().st_size > size
    hook(home, "Stop", transcript_path=str(file))
    assert [[turn.text for turn in turns] for turns in asked] == [[OTHER]]


def test_a_long_transcript_is_read_in_parts(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MOST_READ", 1)
    file = transcript(home, RULE, OTHER)
    hook(home, "Stop", transcript_path=str(file))
    assert [one["text"] for one in said(home)] == [RULE]
    hook(home, "SessionEnd", transcript_path=str(file))
    assert {one["text"] for one in said(home)} == {RULE, OTHER}


def test_what_tools_answered_counts_as_read_and_a_file_that_is_shorter_begins_anew(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "MOST_READ", 100)
    file = transcript(home, RULE)
    result = {"type": "user", "message": {"content": [{"type": "tool_result", "content": "x"}]}}
    lines = [json.dumps(result)] * 9
    typed = file.read_text(encoding="utf-8")
    file.write_text("\n".join([*lines, typed]), encoding="utf-8")
    hook(home, "Stop", transcript_path=str(file))
    assert said(home) == []
    for _ in range(5):
        hook(home, "Stop", transcript_path=str(file))
    assert [one["path"] for one in said(home)] == [f"{file}:10"]
    file.write_text(typed.replace(RULE, OTHER), encoding="utf-8")
    hook(home, "Stop", transcript_path=str(file))
    assert {one["text"] for one in said(home)} == {RULE, OTHER}


def test_two_agents_in_one_folder_are_two_sessions_that_say_it_once(home: Home) -> None:
    hook(home, "UserPromptSubmit", prompt=RULE, session_id="a")
    hook(home, "UserPromptSubmit", "codex", prompt=RULE, session_id="b")
    assert len(said(home)) == 1


@pytest.mark.parametrize(
    "path", ["", "/nowhere/s1.jsonl", "/dev/null", "/", "a\0b", 5, None, "relative.jsonl"]
)
def test_a_transcript_that_is_none_disturbs_nobody(home: Home, path: object) -> None:
    hook(home, "Stop", transcript_path=path)
    hook(home, "BeforeAgent", "gemini-cli", prompt=RULE, transcript_path=path)
    assert [one["text"] for one in said(home)] == [RULE]


def test_another_users_transcript_is_not_read(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    file = transcript(home, RULE)
    monkeypatch.setattr(os, "getuid", lambda: file.stat().st_uid + 1)
    hook(home, "Stop", transcript_path=str(file))
    assert said(home) == []
    assert "Not captured: PermissionError" in log(home)


def test_a_prompt_of_a_megabyte_is_captured_from_its_start(home: Home) -> None:
    hook(home, "UserPromptSubmit", prompt=f"{RULE}\n\n" + "word " * 200_000)
    assert [one["text"] for one in said(home)] == [RULE]


def test_nothing_is_written_while_the_vault_is_locked(home: Home) -> None:
    """Remarks are not kept in the clear: when the vault is open, the transcript has them."""
    key = {"RECOLLECT_PASSPHRASE": PASSPHRASE}
    assert home.call("vault", "lock", using=key).code == 0
    file = transcript(home, RULE)
    hook(home, "UserPromptSubmit", prompt=RULE, transcript_path=str(file))
    assert "Locked" in log(home)
    for each in home.folder.rglob("*"):
        if each.is_file() and each != file:
            assert b"asking me" not in each.read_bytes(), each
    home.environment |= key
    hook(home, "Stop", transcript_path=str(file))
    assert [one["text"] for one in said(home)] == [RULE]
    assert b"asking me" not in home.vault.read_bytes()


def test_an_accepted_candidate_is_found(home: Home) -> None:
    hook(home, "UserPromptSubmit", prompt=RULE)
    shown = home.call("review").out
    assert 'Said in claude-code, in the form "never"' in shown
    [item] = home.call("review", "--json").json()["items"]
    assert home.call("review", item["id"], "keep").out.startswith("Kept as never-push")
    assert (
        home.call("search", "push to main", "--json").json()["results"][0]["kind"] == "preference"
    )


def test_switched_off_nothing_is_read(home: Home) -> None:
    home.environment["RECOLLECT_CAPTURE__ENABLED"] = "false"
    hook(home, "UserPromptSubmit", prompt=RULE)
    hook(home, "Stop", transcript_path=str(transcript(home, RULE)))
    assert said(home) == []
    assert log(home) == ""


def test_a_replay_says_what_would_be_kept_and_keeps_nothing(home: Home) -> None:
    asked = ("hook", "--test", "claude-code", "UserPromptSubmit", "--prompt", f"ok. {RULE}")
    assert home.call(*asked).out.endswith(f"Kept for your review: {RULE}\n")
    assert home.call(*asked, "--json").json()[0]["captured"] == [RULE]
    assert said(home) == []
