"""The words that a typing error may have been made of."""

from __future__ import annotations

import pytest

from recollect.query.variants import (
    MOST_LETTERS,
    TWO_ERRORS,
    is_correctable,
    one_error_away,
    two_errors_away,
)


@pytest.mark.parametrize(
    "typed", ["ancor", "aanchor", "ancxhor", "anchorr", "nachor", "anchro", "anchir", "anchar"]
)
def test_a_letter_left_out_added_replaced_or_swapped_leads_back(typed: str) -> None:
    assert "anchor" in one_error_away(typed)


@pytest.mark.parametrize(
    ("typed", "other"),
    [
        ("bread", "read"),  # the first letter is rarely left out
        ("bread", "tread"),  # nor replaced
        ("lease", "please"),  # nor added
        ("bread", "broad"),  # a short word, and the keys are far apart
        ("scones", "scores"),
        ("helena", "elena"),
        ("stope", "stop"),  # four letters: too short to be meant
        ("anchor", "anchor"),
        ("anchor", "ancrho"),
    ],
)
def test_another_word_is_no_typing_error(typed: str, other: str) -> None:
    assert other not in one_error_away(typed)


def test_in_a_longer_word_any_letter_may_be_wrong_the_first_one_too() -> None:
    for typed in ("nchorage", "aanchorage", "snchorage", "nachorage"):
        assert "anchorage" in one_error_away(typed)
    assert "anchors" in one_error_away("anchozs")
    assert "anchor" not in one_error_away("anchoz")


def test_a_wrong_letter_of_a_short_word_is_a_neighbouring_key() -> None:
    assert {"house", "hoyse"} <= one_error_away("hojse") | one_error_away("hoise")
    assert "house" not in one_error_away("hobse")
    assert "kernel" in one_error_away("kernal"), "Six letters: a vowel may stand for a vowel."
    assert "model" not in one_error_away("madel")


def test_letters_are_those_of_english_and_the_words_own() -> None:
    assert {"größte", "gröse", "größö"} & one_error_away("größe") == {"größte"}
    assert len(one_error_away("anchor")) <= 60 * len("anchor")


def test_the_sharp_s_and_two_plain_ones_are_one_letter() -> None:
    assert "straße" in one_error_away("strasse")
    assert "strasse" in one_error_away("straße")
    assert "masse" not in one_error_away("masse")


@pytest.mark.parametrize(
    ("typed", "meant", "is_near"),
    [
        ("maintainance", "maintenance", True),
        ("authentification", "authentication", True),
        ("architechtrue", "architecture", True),
        ("virtualization", "visualization", False),  # begins otherwise
        ("decryption", "description", False),
        ("production", "protection", False),
        ("calander", "calendar", False),  # eight letters
        ("maintnnce", "maintenance", True),
        ("maintnn", "maintenance", False),
        ("maintxyzance", "maintenance", False),
        ("ansprechpartnerr", "ansprechpartenr", True),
    ],
)
def test_two_errors_are_looked_for_in_long_words_that_begin_alike(
    typed: str, meant: str, is_near: bool
) -> None:
    assert two_errors_away(typed, meant) is is_near
    assert (min(len(typed), len(meant)) >= TWO_ERRORS) or not is_near


@pytest.mark.parametrize(
    ("word", "may"),
    [("word", False), ("words", True), ("größe", True), ("utf80", False), ("it's_", False),
     ("", False), ("a" * MOST_LETTERS, True), ("a" * (MOST_LETTERS + 1), False),
     ("резервное", True), ("定例会議録", False), ("ελληνικά", True)],
)  # fmt: skip
def test_only_words_of_some_letters_can_be_told_from_others(word: str, may: bool) -> None:
    assert is_correctable(word) is may
