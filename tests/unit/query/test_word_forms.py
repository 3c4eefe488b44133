"""A query in another language than English, read by that language."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.engine import Recollect
from recollect.ingest.draft import make_draft
from recollect.query.terms import content_words, languages_of, lower_words
from recollect.query.variants import STEMMED, other_forms, prefix_forms
from recollect.settings import Embedding, Rerank, Settings

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
