"""A query in another language than English, read by that language."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.engine import Recollect
from recollect.ingest.draft import draft
from recollect.query.function_words import languages_of, without_function_words
from recollect.query.terms import lowered
from recollect.query.word_forms import STEMMED, other_forms
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
    assert languages_of(lowered(query)) == languages


def test_words_that_a_question_is_asked_with_are_left_out_unless_all_are() -> None:
    assert without_function_words("wo hängt der zähler".split(), ["german"]) == ["hängt", "zähler"]
    assert without_function_words(["wo", "der"], ["german"]) == ["wo", "der"]


def test_other_forms_share_the_stem_and_the_most_frequent_come_first() -> None:
    known = {"приливов": 1, "приливам": 3, "приливу": 2, "прилежный": 9}

    def beginning(start: str, shortest: int, longest: int) -> dict[str, int]:
        return {word: count for word, count in known.items() if word.startswith(start)}

    assert other_forms("приливы", ["russian"], beginning) == ["приливам", "приливу", "приливов"]
    assert other_forms("прилив", ["german"], beginning) == []
    for language in STEMMED:
        assert other_forms("я", [language], beginning) == []


def test_a_russian_word_is_found_in_another_form_by_blend_alone(tmp_path: Path) -> None:
    with Recollect(tmp_path / "vault.db", settings=OFF, environment={}) as memory:
        memory.save_all(
            [
                draft({"id": "tides", "title": "Таблица", "text": "Высота приливов у берега."}),
                draft({"id": "lights", "title": "Огни", "text": "Маяки горят ночью."}),
            ]
        )
        found = memory.search("Когда были приливы?")
        assert [hit.id for hit in found] == ["tides"]
        assert found.corrected == {}
        assert memory.search("Когда были приливы?", recipe="vault").results == ()
