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


@pytest.mark.parametrize(
    ("text", "fields", "line", "body"),
    [
        ("---\ntitle: Plan\ntags: [a, b]\n---\n# Plan\n", {"title": "Plan", "tags": ["a", "b"]}, 5,
         "# Plan\n"),
        ("---\na: 1\n...\nbody", {"a": "1"}, 4, "body"),
        ("---\n---\nbody", {}, 3, "body"),
        ("---\n# a comment\n---\nbody", {}, 4, "body"),
        ("\ufeff---\r\na: 1\r\n---\r\nbody\r\n", {"a": "1"}, 4, "body\r\n"),
        ("---\na: 1\na: 2\n---\nbody", {"a": "2"}, 5, "body"),
        *((text, {}, 1, text) for text in (
            "", "text", "\n---\na: 1\n---\n", " ---\na: 1\n---\n", "----\na: 1\n----\n",
            "---\nA text below a rule.\n",
        )),
    ],
)  # fmt: skip
def test_fields_and_body_come_apart_and_the_body_knows_its_line(
    text: str, fields: dict[str, object], line: int, body: str
) -> None:
    assert split(text) == FrontMatter(fields, line, body)


@pytest.mark.parametrize("written", ["no", "1.10", "2026-03-01", "null", "0x1F", "~", "1_000"])
def test_every_value_stays_the_text_that_was_written(written: str) -> None:
    assert split(block(f"value: {written}")).fields == {"value": written}


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
