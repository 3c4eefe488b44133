"""Questions that ask for a list, and questions that have a topic."""

from __future__ import annotations

from collections.abc import Sequence, Set
from datetime import UTC, datetime

import pytest

from recollect.query.listing import NOTHING, ListQuery, read_list_query
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


LISTS = {
    "bugs from last month": ListQuery(kind="bug", order="newest", lists=True),
    "what did I decide in September": ListQuery(kind="decision", order="newest", lists=True),
    "what happened last week": ListQuery(order="newest", lists=True),
    "meetings last week": ListQuery(source="meetings", order="newest", lists=True),
    "three days ago": ListQuery(order="newest", lists=True),
    "notes since Monday": ListQuery(order="newest", lists=True),
    "latest bug": ListQuery(kind="bug", order="newest", lists=True),
    "oldest bug": ListQuery(kind="bug", order="oldest", lists=True),
    "first decision in atlas": ListQuery(
        kind="decision", project="atlas", order="oldest", lists=True
    ),
    "all bugs in harbor-api": ListQuery(
        kind="bug", project="harbor-api", order="newest", lists=True
    ),
    "critical bugs": ListQuery(kind="bug", severity="critical", order="newest", lists=True),
    "policies of the atlas team": ListQuery(
        kind="policy", project="atlas", order="newest", lists=True
    ),
    "postgres bugs": ListQuery(kind="bug", order="newest", words=("postgres",), lists=True),
    "what did Anna decide": ListQuery(kind="decision", tag="@anna", order="newest", lists=True),
    "notes by Tom": ListQuery(tag="tom", order="newest", lists=True),
    "Tom's bugs": ListQuery(kind="bug", tag="tom", order="newest", lists=True),
    "what did @tom note last week": ListQuery(tag="tom", order="newest", lists=True),
    "everything about mia": ListQuery(order="newest", words=("mia",), lists=True),
}


@pytest.mark.parametrize("text", LISTS)
def test_a_question_without_a_topic_lists(text: str) -> None:
    assert read(text) == LISTS[text]


def test_a_person_beside_a_topic_is_a_preference() -> None:
    found = read("what did Anna say about the token refresh")
    assert (found.tag, found.lists) == ("@anna", False)
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


def test_beside_a_topic_a_kind_is_a_preference() -> None:
    found = read("bugs with token refresh in atlas")
    assert (found.kind, found.project, found.lists) == ("bug", "atlas", False)


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
def test_a_question_with_a_topic_does_not(text: str) -> None:
    assert not read(text).lists


def test_a_kind_that_no_memory_has_is_a_word() -> None:
    assert read("bugs", kinds=("fact",)) == NOTHING
