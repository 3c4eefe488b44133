"""Front matter: fields as texts, the body with its line, and nothing built that was not written."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from recollect.documents.markdown import DEEPEST, MOST_BYTES, FrontMatter, split


def block(yaml: str, body: str = "The text.\n") -> str:
    return f"---\n{yaml}\n---\n{body}"


def problem_of(text: str) -> str:
    """Why the block is no front matter: in one sentence, and everything stays in the body."""
    given = split(text)
    assert given == FrontMatter({}, 1, text, given.problem)
    assert given.problem.endswith(".")
    assert "\n" not in given.problem
    return given.problem


def test_fields_and_body_come_apart_and_the_body_knows_its_line() -> None:
    given = split("---\ntitle: Plan\ntags: [a, b]\n---\n# Plan\n")
    assert given == FrontMatter({"title": "Plan", "tags": ["a", "b"]}, 5, "# Plan\n")


@pytest.mark.parametrize("written", ["no", "1.10", "2026-03-01", "null", "0x1F", "~", "1_000"])
def test_every_value_stays_the_text_that_was_written(written: str) -> None:
    assert split(block(f"value: {written}")).fields == {"value": written}


def test_three_dots_end_the_block_too() -> None:
    assert split("---\na: 1\n...\nbody") == FrontMatter({"a": "1"}, 4, "body")


def test_a_text_without_a_block_is_all_body() -> None:
    for text in ("", "text", "\n---\na: 1\n---\n", " ---\na: 1\n---\n", "----\na: 1\n----\n"):
        assert split(text) == FrontMatter({}, 1, text)


def test_a_rule_that_nothing_ends_is_no_front_matter_and_no_problem() -> None:
    assert split("---\nA text below a rule.\n") == FrontMatter({}, 1, "---\nA text below a rule.\n")


def test_an_empty_block_has_no_fields() -> None:
    assert split("---\n---\nbody") == FrontMatter({}, 3, "body")
    assert split("---\n# a comment\n---\nbody").fields == {}


def test_windows_line_ends_and_a_byte_order_mark_do_not_matter() -> None:
    assert split("\ufeff---\r\na: 1\r\n---\r\nbody\r\n") == FrontMatter({"a": "1"}, 4, "body\r\n")


def test_of_two_fields_of_one_name_the_last_counts() -> None:
    assert split(block("a: 1\na: 2")).fields == {"a": "2"}


@pytest.mark.parametrize(
    ("yaml", "says"),
    [
        ("- a\n- b", "not a list of fields"),
        ("just words", "not a list of fields"),
        ("a: [", "not valid YAML: see line"),
        ("a: b: c", "not valid YAML: see line 2"),
        ("a: \x01", "not valid YAML"),
        ("a: \ud800", "not valid UTF-8"),
        ("a: &x 1\nb: *x", "alias"),
        ("a: !!python/object/apply:os.system [ls]", "tag"),
        ("a: !secret x", "tag"),
        ("? [a, b]\n: c", "name is not a text"),
        ("a: " + "[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), "too deeply"),
        ("a: " + "[" * 20_000, "too deeply"),
        ("a: " + "x" * MOST_BYTES, "too large"),
        ("a: " + "é" * (MOST_BYTES // 2), "too large"),
    ],
)
def test_what_is_no_plain_front_matter_stays_in_the_body_and_says_why(yaml: str, says: str) -> None:
    assert says in problem_of(block(yaml))


@settings(max_examples=examples(180))
@given(st.text(alphabet="ab:-[]{}&*!?|>#'\"\n ,%@`\t\r\\é\0", max_size=60))
def test_whatever_stands_there_nothing_is_raised_and_nothing_is_lost(yaml: str) -> None:
    text = block(yaml)
    given = split(text)
    assert text.endswith(given.body)
    assert "\n".join(text.split("\n")[given.body_line - 1 :]) == given.body
    assert not (given.problem and given.fields)
