"""The frequency of words in English, by the bundled model's own list."""

from __future__ import annotations

import pytest

from recollect.models.english import is_common, is_word


@pytest.mark.parametrize("word", ["keep", "run", "take", "mind", "tests", "content", "type", "id"])
def test_words_of_any_text_are_common(word: str) -> None:
    assert is_common(word)
    assert is_word(word)


@pytest.mark.parametrize("word", ["kamal", "laptop", "embroidery"])
def test_names_and_rarer_words_are_words_but_not_common(word: str) -> None:
    assert is_word(word)
    assert not is_common(word)


@pytest.mark.parametrize("word", ["webhok", "zzyzx", "vocab", "größße", "a\nb"])
def test_what_is_no_word_is_neither(word: str) -> None:
    assert not is_word(word)
    assert not is_common(word)
