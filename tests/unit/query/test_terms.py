"""The words of a query's text."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recollect.query.terms import keywords, semantic_text, words
from recollect.types import Memory


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", []),
        (" \n\t", []),
        ("roadmap 1.4", ["roadmap", "1", "4"]),
        ("snake_case kebab-case", ["snake_case", "kebab", "case"]),
        ("don't", ["don", "t"]),
        ("東京タワー", ["東京タワー"]),
        ("Straße, ÉTÉ!", ["Straße", "ÉTÉ"]),
        ("x²", ["x²"]),
        ("_", ["_"]),
        ("🙂", []),
        ("re\u0301sume\u0301", ["résumé"]),  # accents as marks of their own, as macOS writes them
    ],
)
def test_words_are_runs_of_letters_digits_and_underscores(text: str, found: list[str]) -> None:
    assert words(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("how does JWT validation work", ["jwt", "validation", "work"]),
        ("How DOES The", []),
        ("a b c d1", ["d1"]),
        ("jwt jwt", ["jwt", "jwt"]),
        ("C++ and R", []),
        ("who's who", []),
        ("howl show", ["howl", "show"]),
        ("İSTANBUL", ["i̇stanbul"]),
    ],
)
def test_keywords_carry_meaning(text: str, found: list[str]) -> None:
    assert keywords(text) == found


def test_tf_idf_reads_title_text_context_and_tags() -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    memory = Memory(
        id="id", title="one", text="two", context="three", tags=("four", "five six"),
        why="x", impact="x", details="x", kind="x", project="x", source="x",
        created_at=now, updated_at=now,
    )  # fmt: skip
    assert words(semantic_text(memory)) == "one two three four five six".split()
