"""The words of a query, and FTS5 expressions of them.

What the expressions match is tested against FTS5 itself in `tests/properties`.
"""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from recollect.query.fts5 import (
    MOST_TERMS,
    all_of,
    any_of,
    any_prefix_of,
    boolean,
    each_counted,
    within,
)
from recollect.query.terms import keywords, quote, semantic_text, words
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


# Expressions

COLUMNS = ("title", "text", "tags")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("auth", '"auth"'),
        ('say "hi"', '"say ""hi"""'),
        ("", '""'),
        ("a\0b", '"a b"'),
        ("* OR NOT", '"* OR NOT"'),
    ],
)
def test_a_string_is_quoted_whatever_it_holds(text: str, written: str) -> None:
    assert quote(text) == written


def test_the_documented_expressions() -> None:
    assert any_of(["jwt", "validation", "work"]) == '"jwt" OR "validation" OR "work"'
    assert any_prefix_of(["auth", "token"]) == '"auth"* OR "token"*'
    assert all_of(["auth", "token"]) == '"auth" "token"'
    assert within(["title", "id"], '"a"') == '{title id} : ("a")'
    assert [any_of([]), any_prefix_of([]), all_of([]), within(["title"], "")] == [""] * 4


@pytest.mark.parametrize(
    ("query", "written"),
    [
        ("alpha beta", '"alpha" "beta"'),
        ("alpha AND beta", '"alpha" AND "beta"'),
        ("a OR b AND c NOT d", '"a" OR "b" AND "c" NOT "d"'),
        ("(a OR b) AND c", '("a" OR "b") AND "c"'),
        ('"one two" three*', '"one two" "three" *'),
        ("^ one + two*", '^ "one" + "two" *'),
        ("NEAR(a b, 3)", 'NEAR("a" "b", 3)'),
        ("NEAR (a b)", 'NEAR("a" "b")'),
        ("shops NEAR me", '"shops" "NEAR" "me"'),
        ("Title:a", '{title} : "a"'),
        ("- {title tags} : (a b)", '- {title tags} : ("a" "b")'),
        ("tags : a b", '{tags} : "a" "b"'),
        ('""', '""'),
        ("", ""),
    ],
)
def test_operators_are_written_anew(query: str, written: str) -> None:
    assert boolean(query, COLUMNS) == written


@pytest.mark.parametrize(
    "query",
    [
        "a AND", "OR a", "a OR OR b", "NOT a", "(a", "a)", "()", "a (b)", "(a) b", "a(b)",
        'a "b', "a'b", "a, b", "a.b", "a; DROP TABLE x", "*a", "a + ", "^", "a ^", "nosuch : a",
        "title : text : a", "{title : a", "{} : a", "-a", "NEAR()", "NEAR(a, x)", 'NEAR(a, "3")',
        "NEAR(^a b)", "near(a b)", "a\x0bb", "title :",
    ],
)  # fmt: skip
def test_invalid_fts5_is_searched_as_plain_words(query: str) -> None:
    assert boolean(query, COLUMNS) == all_of(words(query))


def test_too_many_terms_lose_repeats_first_and_then_the_tail() -> None:
    few = ["a"] * MOST_TERMS
    assert any_of(few).count('"a"') == MOST_TERMS
    assert any_of([*few, "b"]) == '"a" OR "b"'
    many = [f"t{n}" for n in range(MOST_TERMS + 5)]
    assert all_of(many) == all_of(many[:MOST_TERMS])
    assert boolean(" ".join(many), COLUMNS) == all_of(many[:MOST_TERMS])
    assert boolean(" OR ".join(many), COLUMNS) == all_of(["t0", "OR", *many[1 : MOST_TERMS - 1]])


def test_each_term_gets_its_own_count_however_many_repeat() -> None:
    """Of too many terms the repeats go first: what is counted must not slip to other terms."""
    many = ["twice", *(f"word{number}" for number in range(MOST_TERMS)), "twice", "last"]

    def count_letters(expression: str) -> list[int]:
        return [len(term) for term in expression.split(" OR ")]

    found = each_counted(["twice", *many], count_letters)
    assert len(found) == MOST_TERMS
    assert all(count == len(quote(term)) for term, count in found.items())
    assert each_counted(["a"], lambda expression: []) == {}
