"""Typing errors, and other forms of a word."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from recollect.engine import Recollect
from recollect.query.terms import content_words, languages_of, lower_words
from recollect.query.variants import (
    MOST_LETTERS,
    STEMMED,
    TWO_ERRORS,
    is_correctable,
    one_error_away,
    other_forms,
    prefix_forms,
    two_errors_away,
)
from recollect.settings import Embedding, Rerank, Settings


@pytest.mark.parametrize(
    ("meant", "typed", "others"),
    [
        # A letter left out, added, replaced or swapped.
        ("anchor", "ancor aanchor ancxhor anchorr nachor anchro anchir anchar", "anchor ancrho"),
        # In a longer word any letter may be wrong, the first one too.
        ("anchorage", "nchorage aanchorage snchorage nachorage", ""),
        ("anchors", "anchozs", ""),
        ("anchor", "", "anchoz"),
        # A wrong letter of a short word is a neighbouring key; of six letters, also a vowel.
        ("house", "hojse hoise", "hobse"),
        ("kernel", "kernal", ""),
        ("model", "", "madel"),
        # The first letter is rarely left out, replaced or added.
        ("read", "", "bread"),
        ("tread", "", "bread"),
        ("please", "", "lease"),
        ("broad", "", "bread"),
        ("scores", "", "scones"),
        ("elena", "", "helena"),
        ("stop", "", "stope"),  # four letters: too short to be meant
        # The sharp s and two plain ones are one letter.
        ("straße", "strasse", ""),
        ("strasse", "straße", ""),
        ("masse", "", "masse"),
    ],
)
def test_one_error_leads_back_to_the_word_and_another_word_does_not(
    meant: str, typed: str, others: str
) -> None:
    assert [word for word in typed.split() if meant not in one_error_away(word)] == []
    assert [word for word in others.split() if meant in one_error_away(word)] == []


def test_letters_are_those_of_english_and_of_the_word() -> None:
    assert {"größte", "gröse", "größö"} & one_error_away("größe") == {"größte"}
    assert len(one_error_away("anchor")) <= 60 * len("anchor")


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
def test_only_words_of_some_letters_are_correctable(word: str, may: bool) -> None:
    assert is_correctable(word) is may


OFF = Settings(embedding=Embedding(provider="none"), rerank=Rerank(provider="none"))


@pytest.mark.parametrize(
    ("query", "languages"),
    [
        ("Wo hängt der Zähler", ("german",)),
        ("¿Dónde está el contador?", ("spanish",)),
        ("Quand est-ce que le serveur était en panne", ("french",)),
        ("quando sono stati rinnovati gli accordi", ("italian",)),
        ("Quem foi contratado pela empresa", ("portuguese",)),
        ("Wanneer werd het contract getekend", ("dutch",)),
        ("расписание приливов", ("russian",)),
        ("how does the β-catenin pathway work", ()),
        ("es modules", ()),
        ("what was the war about", ()),
        ("kubernetes", ()),
        ("", ()),
    ],
)
def test_a_language_is_told_by_its_common_words_or_its_script(
    query: str, languages: tuple[str, ...]
) -> None:
    assert languages_of(lower_words(query)) == languages


def test_words_that_a_question_is_asked_with_are_left_out_unless_all_are() -> None:
    assert content_words("wo hängt der zähler".split()) == ["hängt", "zähler"]
    assert content_words("what is here".split()) == ["what", "is"]
    assert content_words(["wo", "der"]) == ["wo", "der"]


def words_of(known: dict[str, int]) -> Callable[[str, int, int], dict[str, int]]:
    """Return the look-up of known words by their beginning and length."""
    return lambda start, shortest, longest: {
        word: count
        for word, count in known.items()
        if word.startswith(start) and shortest <= len(word) <= longest
    }


def test_other_forms_share_the_stem_and_the_most_frequent_come_first() -> None:
    beginning = words_of({"приливов": 1, "приливам": 3, "приливу": 2, "прилежный": 9})
    assert other_forms("приливы", ["russian"], beginning) == ["приливам", "приливу", "приливов"]
    assert other_forms("прилив", ["german"], beginning) == []
    for language in STEMMED:
        assert other_forms("я", [language], beginning) == []


@pytest.mark.parametrize(
    ("word", "forms"),
    [
        ("postgres", ["postgresql"]),
        ("postgresqls", ["postgresql"]),
        ("post", ["poster", "postgresql"]),  # the most frequent first
        ("posters", ["poster"]),
        ("pos", []),  # too short to tell
        ("postgresqlreplication", []),  # most of the word must be there
    ],
)
def test_a_word_is_a_beginning_of_others_or_begins_with_them(word: str, forms: list[str]) -> None:
    beginning = words_of({"postgresql": 2, "poster": 3})
    assert prefix_forms(word, beginning) == forms


def test_a_russian_word_is_found_in_another_form_by_blend_alone(tmp_path: Path) -> None:
    with Recollect(tmp_path / "vault.db", settings=OFF, environment={}) as memory:
        memory.save(id="tides", title="Таблица", text="Высота приливов у берега.")
        memory.save(id="lights", title="Огни", text="Маяки горят ночью.")
        found = memory.search("Когда были приливы?")
        assert [hit.id for hit in found] == ["tides"]
        assert found.corrected == {}
        assert memory.search("Когда были приливы?", recipe="vault").results == ()
