"""What is one slip of the fingers away."""

from __future__ import annotations

import pytest

from recollect.query.spelling import MOST_LETTERS, misspellable, one_slip_away


@pytest.mark.parametrize(
    "slip", ["ancor", "aanchor", "ancxhor", "anchorr", "nachor", "anchro", "znchor", "ancher"]
)
def test_a_slip_leads_back(slip: str) -> None:
    assert "anchor" in one_slip_away(slip)
    assert slip in one_slip_away("anchor")


def test_the_word_itself_and_what_is_further_away_are_not_among_them() -> None:
    found = one_slip_away("anchor")
    assert not found & {"anchor", "anchors!", "ancorx", "anhco", "rohcna", ""}
    assert len(found) <= 60 * len("anchor")
    assert {abs(len(one) - 6) for one in found} == {0, 1}


def test_letters_are_those_of_english_and_the_words_own() -> None:
    found = one_slip_away("größe")
    assert {"größte", "grösse", "gröse", "größö", "göreße"} & found == {
        "größte",
        "gröse",
        "größö",
        "grösse",
    }


def test_the_sharp_s_and_two_plain_ones_are_one_letter() -> None:
    assert "straße" in one_slip_away("strasse")
    assert "strasse" in one_slip_away("straße")
    assert "masse" not in one_slip_away("masse")


@pytest.mark.parametrize(
    ("word", "may"),
    [("word", False), ("words", True), ("größe", True), ("utf80", False), ("it's_", False),
     ("", False), ("a" * MOST_LETTERS, True), ("a" * (MOST_LETTERS + 1), False)],
)  # fmt: skip
def test_only_words_of_some_letters_can_be_told_from_others(word: str, may: bool) -> None:
    assert misspellable(word) is may
