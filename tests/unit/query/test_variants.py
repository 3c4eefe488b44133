"""Typing errors, and other forms of a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.engine import Recollect
from recollect.ingest.draft import make_draft
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


def test_other_forms_share_the_stem_and_the_most_frequent_come_first() -> None:
    known = {"приливов": 1, "приливам": 3, "приливу": 2, "прилежный": 9}

    def beginning(start: str, shortest: int, longest: int) -> dict[str, int]:
        return {word: count for word, count in known.items() if word.startswith(start)}

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
    known = {"postgresql": 2, "poster": 3}

    def beginning(start: str, shortest: int, longest: int) -> dict[str, int]:
        return {
            each: count
            for each, count in known.items()
            if each.startswith(start) and shortest <= len(each) <= longest
        }

    assert prefix_forms(word, beginning) == forms


def test_a_russian_word_is_found_in_another_form_by_blend_alone(tmp_path: Path) -> None:
    with Recollect(tmp_path / "vault.db", settings=OFF, environment={}) as memory:
        memory.save_all(
            [
                make_draft(
                    {"id": "tides", "title": "Таблица", "text": "Высота приливов у берега."}
                ),
                make_draft({"id": "lights", "title": "Огни", "text": "Маяки горят ночью."}),
            ]
        )
        found = memory.search("Когда были приливы?")
        assert [hit.id for hit in found] == ["tides"]
        assert found.corrected == {}
        assert memory.search("Когда были приливы?", recipe="vault").results == ()
