"""Made ids: a person can read them, and the same memory gets the same one again."""

from __future__ import annotations

import re

import pytest

from recollect.ingest.draft import CONTENT, LONGEST_SLUG, SUFFIX, make_id, slug


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("JWT: why?", "jwt-why"),
        ("  Use   a pool -- of ten! ", "use-a-pool-of-ten"),
        ("Überraschung im Café №5", "uberraschung-im-cafe-no5"),
        ("snake_case and CamelCase", "snake-case-and-camelcase"),
        ("日本語", "日本語"),
        ("🔑 …", ""),
        ("", ""),
        ("a" * 300, "a" * LONGEST_SLUG),
    ],
)
def test_a_slug_is_lower_case_words_and_hyphens(text: str, expected: str) -> None:
    assert slug(text) == expected


def test_a_long_slug_is_cut_at_a_word() -> None:
    cut = slug("one two three four five six seven eight nine eleven twelve thirteen")
    assert cut == "one-two-three-four-five-six-seven-eight-nine"
    assert len(cut) <= LONGEST_SLUG


def test_an_id_is_a_slug_of_the_title_and_a_few_letters() -> None:
    id = make_id({"title": "Rotate the keys", "text": "Every ninety days."})
    assert re.fullmatch(rf"rotate-the-keys-[a-z2-7]{{{SUFFIX}}}", id)


def test_the_text_names_a_memory_without_a_title() -> None:
    assert make_id({"text": "Every ninety days."}).startswith("every-ninety-days-")
    assert make_id({"title": "日本語"}).startswith("日本語-")
    assert make_id({"title": "🔑"}).startswith("memory-")


def test_the_same_memory_gets_the_same_id_in_every_process() -> None:
    """The letters are a digest of what is said, not of this run: this id must never change."""
    assert make_id({"title": "Rotate the keys"}) == "rotate-the-keys-3j6lkt"


@pytest.mark.parametrize("name", CONTENT)
def test_each_thing_a_memory_says_counts(name: str) -> None:
    plain = {"title": "Rotate the keys"}
    letters = {make_id(plain)[-SUFFIX:], make_id({**plain, name: "else"})[-SUFFIX:]}
    assert len(letters) == 2


def test_what_does_not_change_what_is_said_does_not_count() -> None:
    plain = {"title": "Rotate the keys"}
    assert make_id({**plain, "tags": ("a",), "tier": "core", "severity": "critical"}) == make_id(
        plain
    )


def test_a_default_that_is_spelled_out_counts_as_the_default() -> None:
    plain = {"title": "Rotate the keys"}
    assert make_id({**plain, "kind": "fact", "project": "", "text": ""}) == make_id(plain)


def test_words_that_move_between_fields_make_another_id() -> None:
    assert make_id({"title": "a", "text": "b"})[-SUFFIX:] != make_id({"title": "ab"})[-SUFFIX:]
    assert make_id({"title": "a", "why": "b"}) != make_id({"title": "a", "impact": "b"})
