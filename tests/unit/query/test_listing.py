"""Questions that ask for a list, and questions that have a topic."""

from __future__ import annotations

from collections.abc import Sequence, Set
from datetime import UTC, datetime

import pytest

from recollect.query.intent import NOTHING, ListQuery, Order, read_list_query
from recollect.query.time.periods import periods

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


def test_a_person_with_a_topic_is_a_preference() -> None:
    found = read("what did Anna say about the token refresh")
    assert (found.labels, found.lists) == ({"tag": "@anna"}, False)
    assert read("connect to tom in postgres") == NOTHING  # a topic, as far as anyone can tell


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


def test_a_kind_with_a_topic_is_a_preference() -> None:
    found = read("bugs with token refresh in atlas")
    assert (found.labels, found.lists) == ({"kind": "bug", "project": "atlas"}, False)


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
