"""The passage of a memory that a query is about, and what a reranker reads of a long text."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from recollect.query.passages import passage, window
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


@pytest.mark.parametrize(
    ("text", "words", "seen"),
    [
        (f"{HAY}the needle is under the mattress {HAY}", ["needle", "mattress"],
         "the needle is under the mattress"),
        (f"{HAY}needles were found {HAY}", ["needle"], "needles"),  # other endings
        (f"{HAY}needles were found {HAY}", ["needled"], "needles"),
        # The most different words, and of several places the first.
        (f"needle needle needle {HAY}needle thread {HAY}thread needle {HAY}", ["needle", "thread"],
         "needle thread"),
        (f"{HAY}c++ (is) fine", ["c++", "(is"], "c++ (is) fine"),
        (f"needle {HAY}", ["needle"], "needle"),
        (f"{HAY}needle", ["needle"], "needle"),
        ("数据库迁移失败" * 100, ["迁移"], "迁移"),
        (HAY, ["zebra"], "plain hay"),
        (HAY, [], "plain hay"),
    ],
)  # fmt: skip
def test_a_reranker_reads_the_part_that_holds_the_words(
    text: str, words: list[str], seen: str
) -> None:
    read = window(text, words, 60)
    assert seen in read
    assert read in text
    assert len(read) <= 60
    assert not read.startswith("lain"), "It begins with a whole word."


def test_a_reranker_reads_a_short_text_whole_and_the_beginning_without_a_match() -> None:
    assert window("exactly so", ["zebra"], 10) == "exactly so"
    assert HAY.startswith(window(HAY, ["zebra"], 50))
    assert window("x" * 500, [], 50)
    assert "needles" not in window(f"{HAY}needles were found {HAY}", ["unneedled"], 60)
