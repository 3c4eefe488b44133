"""The intent table of the `router` recipe, row by row, and the inputs that lie between rows."""

from __future__ import annotations

import pytest

from recollect.query.intent import intent

KEYWORD = {
    "empty or white space": ["", " ", "\t\n", "\u00a0"],
    "the whole query in quotes": [
        '"the quick brown fox"',
        "'the quick brown fox'",
        ' "padded with white space outside" ',
        '""',
        "''",
        '"the quick" brown "fox jumps"',  # begins and ends with a quote
    ],
    "an operator as an upper-case word": [
        "pros AND cons today",
        "this OR that one",
        "cats NOT dogs please",
        "shops NEAR the station",
        "NEAR(shop station, 5) please now",
        "this (OR) that one",
        "fish,AND,chips for two",
        "AND what about it",
    ],
    "a date": [
        "what happened on 2026-03-01",
        "the notes from 2026/03/01 please",
        "logs of 2026-03-01T10:00:00Z please",
        "files under (1999-12-31) somewhere here",
    ],
    "one or two words": ["fox", "quick fox", "  quick   fox  ", "quick-fox jumps", "what?", "?"],
    "one hyphenated lower-case token": ["my-page-slug", "a-1-b"],
}

SEMANTIC = [
    "the quick fox",
    "how does this work",
    "pros and cons",  # operators are upper-case
    "Pros And Cons",
    "the ANDROID phone app",  # not a word of its own
    "the BAND plays on",
    "an ORDER of magnitude",
    "what is NOTABLE here",
    "go NEARBY and look",
    "my_AND_variable is set",
    "call 2026-3-1 a date",  # not YYYY-MM-DD
    "the year 2026/03 was",
    "number 12026-03-01 is longer",
    "code 2026-03-011 is longer",
    "mixed 2026-03/01 is neither",
    '"the quick fox" jumps',
    "the quick 'brown fox'",
    "\"mixed quotes here'",
    "my-page-slug and more",
    "東京 の 天気",
    "a b c",
]


@pytest.mark.parametrize(
    ("row", "query"), [(row, query) for row, queries in KEYWORD.items() for query in queries]
)
def test_keyword_rows(row: str, query: str) -> None:
    assert intent(query) == "keyword"


@pytest.mark.parametrize("query", SEMANTIC)
def test_three_words_with_nothing_special_are_semantic(query: str) -> None:
    assert intent(query) == "semantic"
