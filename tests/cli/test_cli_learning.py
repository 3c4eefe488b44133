"""`recollect feedback` teaches the ranking, and `recollect context` briefs an agent."""

from __future__ import annotations

import re

import pytest
from commandline import Home, check_error

from recollect import Recollect
from recollect.settings import Embedding, Rerank, Settings


def weights(home: Home) -> dict[str, float]:
    [result] = home.search("tokens", "--recipe", "vault", "--explain")["results"]
    return {part["name"]: round(part["weight"], 6) for part in result["explain"]["parts"]}


def test_feedback_through_the_command_tips_the_weights(home: Home) -> None:
    home.save("--title", "Rotate tokens", "--id", "m")
    off = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))
    with Recollect(home.vault, home=home.folder, settings=off) as memory:
        for _ in range(28):  # two short of what is learned from
            memory.feedback("tokens", "m", accept=True)
    assert home.json("feedback", "tokens", "m", "--accept") == {"accepted": 1, "dismissed": 0}
    assert weights(home)["semantic"] == 0.40
    done = home.run("feedback", "tokens", "m", "--dismiss")
    assert done.out == "Noted. Feedback so far: 0 accepted, 1 dismissed.\n"
    assert weights(home)["semantic"] == pytest.approx(0.54)
    assert home.json("stats")["feedback"] == {"accepted": 0, "dismissed": 1}


def test_feedback_needs_a_query_and_a_memory_that_is_there(home: Home) -> None:
    home.save("--title", "x", "--id", "m")
    check_error(home.call("feedback", "q", "nothing", "--accept"), "There is no memory 'nothing'")
    for query in (" ", "?!", "\N{SMILING FACE WITH OPEN MOUTH}"):
        check_error(home.call("feedback", query, "m", "--accept"), "needs the query", "in words")
    check_error(home.call("feedback", "q", "m", "--undo"), "no feedback of 'm' for “q”")
    home.call("forget", "m")
    check_error(home.call("feedback", "q", "m", "--accept"), "'m' is forgotten", "forget m --undo")
    assert home.json("stats")["feedback"] == {"accepted": 0, "dismissed": 0}


def test_feedback_is_taken_back_and_the_same_again_changes_nothing(home: Home) -> None:
    home.save("--title", "Rotate tokens", "--id", "m")
    home.run("feedback", "which tokens?", "m", "--accept")
    assert home.json("feedback", "Which tokens", "m", "--accept") == {"accepted": 1, "dismissed": 0}
    check_error(home.call("feedback", "which tokens", "m", "--dismiss", "--undo"), "no dismissal")
    done = home.run("feedback", "which tokens", "m", "--undo")
    assert done.out == "Taken back. Feedback so far: 0 accepted, 0 dismissed.\n"
    check_error(home.call("feedback", "which tokens", "m", "--undo"), "no feedback")


def test_what_was_learned_is_shown_and_reset(home: Home) -> None:
    home.save("--title", "Rotate tokens", "--id", "m")
    home.run("feedback", "tokens", "m", "--accept")
    shown = home.run("recipes", "learned").out.splitlines()
    assert shown[:2] == [
        "blend: 0 weights changed.",
        "  1 question with an accepted result; learning begins with 20.",
    ]
    assert shown[2:] == [
        "vault: 0 weights changed.", "  1 feedback event; learning begins with 30.",
    ]  # fmt: skip
    [blend] = home.json("recipes", "learned", "blend")
    assert blend["weights"]["exact"] == {"declared": 2.5, "now": 2.5}
    assert (blend["events"], blend["after"], blend["lesson"]) == (1, 20, None)
    [reset] = home.json("recipes", "learned", "blend", "--reset")
    assert reset["events"] == 0
    assert home.call("recipes", "show", "blend", "--reset").code == 2


@pytest.fixture
def briefed(home: Home) -> Home:
    """Six memories of two projects, a day apart, the newest first in the alphabet."""
    home.import_memories(
        *(
            {
                "id": name,
                "title": f"Note {name}",
                "text": "deploy on Fridays" if name in "ce" else "something else",
                "project": "harbor" if name in "abc" else "ledger",
                "updated_at": f"2026-02-{20 - place:02}",
            }
            for place, name in enumerate("abcdef")
        )
    )
    return home


def ids(briefing: dict[str, list[dict[str, str]]]) -> list[str]:
    return [memory["id"] for memory in briefing["memories"]]


def test_a_context_without_a_question_is_the_newest(briefed: Home) -> None:
    briefing = briefed.run("context", "--limit", "3", "--json").json()
    assert ids(briefing) == ["a", "b", "c"]
    numbers = {"pinned": 0, "matched": 0, "topped_up": 3, "left_out": 0}
    assert briefing == {"memories": briefing["memories"], "degraded": [], **numbers}


def test_a_context_with_a_question_is_the_matches_then_the_newest_none_twice(
    briefed: Home,
) -> None:
    briefing = briefed.json("context", "deploy", "--limit", "5")
    assert sorted(ids(briefing)[:2]) == ["c", "e"]
    assert ids(briefing)[2:] == ["a", "b", "d"]
    assert (briefing["matched"], briefing["topped_up"]) == (2, 3)
    assert sorted(ids(briefed.json("context", "deploy", "--no-topup"))) == ["c", "e"]


def test_a_context_keeps_to_its_budget(briefed: Home) -> None:
    """The answer as printed counts: each note takes about 200 characters of JSON, or 60 of text."""
    for tokens, fitting in ((60, []), (100, ["a"]), (130, ["a", "b"]), (180, ["a", "b", "c"])):
        printed = briefed.run("context", "--json", "--max-tokens", str(tokens))
        assert len(printed.out) <= 4 * tokens
        assert ids(printed.json()) == fitting
        assert printed.json()["left_out"] == 6 - len(fitting)
    text = briefed.run("context", "--max-tokens", "100").out
    assert len(text) <= 400
    assert re.findall(r"^> Note.*\n.* · (.)$", text, re.MULTILINE) == ["a", "b", "c"]
    assert "3 more not shown" in text
    check_error(briefed.call("context", "--max-tokens", "1"), "too small", "37 are needed")
    check_error(briefed.call("context", "--max-tokens", "0"), "--max-tokens")
    check_error(briefed.call("context", "--limit", "0"), "at least 1")


def test_a_context_says_what_it_did_to_people(briefed: Home) -> None:
    done = briefed.run("context", "deploy", "--limit", "3")
    assert (done.code, done.err) == (0, "")
    assert "deploy on Fridays" in done.out
    assert "3 memories: 2 found by search, 1 newest" in done.out
    assert Home(briefed.folder / "empty").call("context").out == "No memory here yet.\n"
