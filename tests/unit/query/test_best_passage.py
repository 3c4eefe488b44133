"""The passage of a memory that a query is about."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from recollect.query.passages import passage
from recollect.types import Memory, Passage

NOW = datetime(2026, 3, 1, tzinfo=UTC)
HAY = "plain hay and more of it " * 40  # a thousand characters


def memory(**fields: Any) -> Memory:
    return Memory(id="m", created_at=NOW, updated_at=NOW, **fields)


def test_a_short_text_is_shown_whole() -> None:
    assert passage(memory(text="All of it."), ["all"], 60) == Passage("text", "All of it.")
    assert passage(memory(text="All of it."), [], 60) == Passage("text", "All of it.")
    assert passage(memory(), ["all"], 60) == Passage("text", "")


def test_a_passage_begins_with_its_sentence_and_says_where_it_was_cut() -> None:
    found = passage(memory(text=f"{HAY}. The needle is under the mattress. {HAY}"), ["needle"], 60)
    assert found.text.startswith("…The needle is under the mattress. plain")
    assert found.text.endswith("…")
    assert len(found.text) <= 62


@pytest.mark.parametrize("field", ["details", "why", "impact", "context"])
def test_the_field_that_holds_most_of_the_words_is_shown(field: str) -> None:
    fields = {"text": "A needle.", field: f"{HAY} the needle is under the mattress {HAY}"}
    found = passage(memory(**fields), ["needle", "mattress"], 80)
    assert found.field == field
    assert "needle is under the mattress" in found.text


def test_ties_between_fields_go_to_the_text() -> None:
    assert passage(memory(text="needle", details="needle"), ["needle"], 60).field == "text"
    assert passage(memory(text="hay", details="hay"), ["needle"], 60).field == "text"
    assert passage(memory(details="hay"), ["needle"], 60).field == "details"


def test_without_a_matching_word_the_passage_is_at_the_place_or_the_beginning() -> None:
    assert passage(memory(text=HAY), ["needle"], 60).text.startswith("plain hay")
    assert passage(memory(text=HAY + "tail of it " * 20), [], 60, len(HAY)).text.startswith("…tail")
    assert len(passage(memory(text=HAY), [], 60, 10**6).text) > 40


def test_lines_of_code_stay_lines() -> None:
    code = f"{'x = 1' * 40}\ndef needle():\n    return 1\n"
    assert "def needle():\n    return 1" in passage(memory(text=code), ["needle"], 60).text


def test_a_script_without_spaces_is_cut_around_its_characters() -> None:
    text = "データベースの接続が切れる" * 20 + "検索エンジンの索引" + "あいうえお" * 40
    found = passage(memory(text=text), ["検索機能"], 60).text
    assert "検索エンジン" in found
    assert 50 < len(found) <= 62
