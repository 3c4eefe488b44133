"""The text of a memory that a cross-encoder reads."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recollect.query.passages import window
from recollect.stages.rerank import focused_text, whole_text
from recollect.types import Memory

NOW = datetime(2026, 3, 1, tzinfo=UTC)
HAY = "plain hay and more of it " * 40  # a thousand characters


def memory(title: str, text: str) -> Memory:
    return Memory(id="m", title=title, text=text, created_at=NOW, updated_at=NOW)


def test_all_of_it_is_title_and_text() -> None:
    assert whole_text(memory("Title", "Text")) == "Title\nText"
    assert whole_text(memory("", "Text")) == "Text"
    assert whole_text(memory("Title", "")) == "Title"
    assert focused_text(memory("Title", ""), "query", 10) == "Title"


def test_a_short_text_is_read_whole() -> None:
    assert window("exactly so", ["zebra"], 10) == "exactly so"


def test_a_long_text_is_read_around_the_words() -> None:
    text = f"{HAY}the needle is under the mattress {HAY}"
    seen = window(text, ["needle", "mattress"], 100)
    assert "the needle is under the mattress" in seen
    assert len(seen) <= 100
    assert seen in text
    assert not seen.startswith("lain")


def test_other_endings_are_found_and_other_beginnings_are_not() -> None:
    text = f"{HAY}needles were found {HAY}"
    assert "needles" in window(text, ["needle"], 60)
    assert "needles" in window(text, ["needled"], 60)
    assert "needles" not in window(text, ["unneedled"], 60)


def test_most_different_words_win_and_of_several_places_the_first() -> None:
    text = f"needle needle needle {HAY}needle thread {HAY}thread needle {HAY}"
    seen = window(text, ["needle", "thread"], 60)
    assert "needle thread" in seen
    assert "thread needle" not in seen


@pytest.mark.parametrize("words", [[], ["zebra"]])
def test_without_a_matching_word_the_beginning_is_read(words: list[str]) -> None:
    assert HAY.startswith(window(HAY, words, 50))


def test_words_at_either_end_do_not_leave_the_text() -> None:
    first, last = f"needle {HAY}", f"{HAY}needle"
    assert window(first, ["needle"], 50).startswith("needle")
    assert window(last, ["needle"], 50).endswith("needle")


def test_a_text_without_blanks_is_cut_all_the_same() -> None:
    seen = window("数据库迁移失败" * 100, ["迁移"], 50)
    assert 0 < len(seen) <= 50
    assert window("x" * 500, [], 50)


def test_signs_in_words_are_no_pattern() -> None:
    assert window(f"{HAY}c++ (is) fine", ["c++", "(is"], 40)
