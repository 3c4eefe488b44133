"""The intent of a query: the `router` recipe's table row by row, the past, and lists."""

from __future__ import annotations

from collections.abc import Sequence, Set
from datetime import UTC, datetime

import pytest

from recollect.query.intent import (
    NOTHING,
    ListQuery,
    Order,
    asks_before,
    asks_for_successor,
    intent,
    read_list_query,
    without_past,
)
from recollect.query.time.periods import periods

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


@pytest.mark.parametrize(
    "query",
    [
        "where was the office before", "which editor did I use to use",
        "which database did ledger use previously",
        "our former bank", "wo war das Büro früher", "l'ancien loyer", "qué usábamos antes",
        "где был офис раньше", "以前的办公室", "以前の会議", "예전 회의",
    ],
)  # fmt: skip
def test_a_question_about_the_past_is_recognised(query: str) -> None:
    assert asks_before(query)


@pytest.mark.parametrize(
    "query",
    [
        "where is our office", "how old is the cache", "what did we decide", "editor", "",
        "who was our contact", "how much was the rent", "what database did ledger use",
        "run the tests before pushing",
        "what replaced the previous queue", "are we still on the former host",
    ],
)  # fmt: skip
def test_the_past_tense_and_a_question_for_a_successor_are_not_about_the_past(query: str) -> None:
    assert not asks_before(query)


@pytest.mark.parametrize(
    ("query", "searched"),
    [
        ("where was the office before?", "where was the office ?"),
        ("which terminal did I use to use", "which terminal did I use"),
        ("what did we use before NATS", "what did we use before NATS"),
        ("before", "before"),
    ],
)
def test_words_that_only_ask_about_the_past_are_not_searched_for(query: str, searched: str) -> None:
    assert without_past(query).split() == searched.split()


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("what replaced Redis", True),
        ("are we still on Python 3.11", True),
        ("which bank do we use nowadays", True),
        ("was nehmen wir jetzt", True),
        ("which cache do we use", False),
        ("", False),
    ],
)
def test_a_question_about_the_present_is_recognised(query: str, wanted: bool) -> None:
    assert asks_for_successor(query) is wanted


NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
PROJECTS = ("atlas", "harbor-api")
TAGS = ("@anna", "tom", "postgres")
STEMS = {"bugs": "bug", "decisions": "decision", "decided": "decid", "decide": "decid",
         "policies": "polici", "policy": "polici"}  # fmt: skip


def read(
    text: str,
    kinds: Sequence[str] = ("bug", "decision", "note", "policy"),
    ignored: Set[str] = frozenset(),
) -> ListQuery:
    return read_list_query(
        text,
        periods(text, NOW),
        kinds=lambda: kinds,
        projects=lambda names: [name for name in names if name in PROJECTS],
        sources=lambda names: [name for name in names if name == "meetings"],
        tags=lambda names: [name for name in names if name in TAGS],
        ignored=ignored,
        stem=lambda word: frozenset((STEMS.get(word, word),)),
    )


def listing(
    labels: dict[str, str], order: Order = "newest", words: tuple[str, ...] = ()
) -> ListQuery:
    return ListQuery(labels, order, words, lists=True)


LISTS = {
    "bugs from last month": listing({"kind": "bug"}),
    "what did I decide in September": listing({"kind": "decision"}),
    "what happened last week": listing({}),
    "meetings last week": listing({"source": "meetings"}),
    "three days ago": listing({}),
    "notes since Monday": listing({}),
    "latest bug": listing({"kind": "bug"}),
    "oldest bug": listing({"kind": "bug"}, "oldest"),
    "first decision in atlas": listing({"kind": "decision", "project": "atlas"}, "oldest"),
    "all bugs in harbor-api": listing({"kind": "bug", "project": "harbor-api"}),
    "critical bugs": listing({"kind": "bug", "severity": "critical"}),
    "policies of the atlas team": listing({"kind": "policy", "project": "atlas"}),
    "postgres bugs": listing({"kind": "bug"}, words=("postgres",)),
    "what did Anna decide": listing({"kind": "decision", "tag": "@anna"}),
    "notes by Tom": listing({"tag": "tom"}),
    "Tom's bugs": listing({"kind": "bug", "tag": "tom"}),
    "what did @tom note last week": listing({"tag": "tom"}),
    "everything about mia": listing({}, words=("mia",)),
}


@pytest.mark.parametrize("text", LISTS)
def test_a_question_without_a_topic_lists(text: str) -> None:
    assert read(text) == LISTS[text]


TAKEN_BACK = {
    "kind bug": "bugs of atlas by Tom, the latest critical ones",
    "project atlas": "latest bugs of atlas",
    "source meetings": "meetings last week",
    "tag tom": "bugs by Tom",
    "severity critical": "critical bugs",
    "holds postgres": "postgres bugs",
    "oldest first": "oldest bug",
    "newest first": "bugs from last month",
}


@pytest.mark.parametrize("reading", TAKEN_BACK)
def test_one_reading_can_be_taken_back_and_the_others_stay(reading: str) -> None:
    text = TAKEN_BACK[reading]
    before = read(text).describe(lists=True)
    after = read(text, ignored={reading})
    said = after.describe(after.lists)
    assert reading in before
    assert reading not in said
    kept = [one for one in before if one != reading and not one.endswith(" first")]
    assert [one for one in kept if not one.startswith(("severity", "holds"))] == [
        one for one in said if one in kept and not one.startswith(("severity", "holds"))
    ]


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("bugs with token refresh in atlas", {"kind": "bug", "project": "atlas"}),
        ("what did Anna say about the token refresh", {"tag": "@anna"}),
        ("connect to tom in postgres", {}),  # a topic, as far as anyone can tell
    ],
)
def test_a_kind_or_a_person_with_a_topic_is_a_preference(text: str, labels: dict[str, str]) -> None:
    assert (read(text).labels, read(text).lists) == (labels, False)


@pytest.mark.parametrize(
    "text",
    [
        "postgres",
        "why did the login bug come back",  # one thing of a topic
        "bug in the parser",
        "the first week",
        "2026-03-01",  # may stand in a text
        "data warehouse in 2025",
        "tokens last week",
        '"latest bug"',
        "what is the latest version of the gateway that we run in production",
    ],
)
def test_a_question_with_a_topic_does_not_list(text: str) -> None:
    assert not read(text).lists


def test_a_kind_that_no_memory_has_is_a_word() -> None:
    assert read("bugs", kinds=("fact",)) == NOTHING
