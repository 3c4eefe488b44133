"""Questions that ask for a list, and questions that have a topic."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from recollect.query.listing import NOTHING, Asked, asked
from recollect.query.time.periods import periods

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
PROJECTS = ("atlas", "harbor-api")
STEMS = {"bugs": "bug", "decisions": "decision", "decided": "decid", "decide": "decid",
         "policies": "polici", "policy": "polici"}  # fmt: skip


def read(text: str, kinds: Sequence[str] = ("bug", "decision", "note", "policy")) -> Asked:
    return asked(
        text,
        periods(text, NOW),
        kinds=lambda: kinds,
        projects=lambda names: [name for name in names if name in PROJECTS],
        sources=lambda names: [name for name in names if name == "meetings"],
        stem=lambda word: frozenset((STEMS.get(word, word),)),
    )


LISTS = {
    "bugs from last month": Asked(kind="bug", order="newest", lists=True),
    "what did I decide in September": Asked(kind="decision", order="newest", lists=True),
    "what happened last week": Asked(order="newest", lists=True),
    "meetings last week": Asked(source="meetings", order="newest", lists=True),
    "three days ago": Asked(order="newest", lists=True),
    "notes since Monday": Asked(order="newest", lists=True),
    "latest bug": Asked(kind="bug", order="newest", lists=True),
    "oldest bug": Asked(kind="bug", order="oldest", lists=True),
    "first decision in atlas": Asked(kind="decision", project="atlas", order="oldest", lists=True),
    "all bugs in harbor-api": Asked(kind="bug", project="harbor-api", order="newest", lists=True),
    "critical bugs": Asked(kind="bug", severity="critical", order="newest", lists=True),
    "policies of the atlas team": Asked(kind="policy", project="atlas", order="newest", lists=True),
    "postgres bugs": Asked(kind="bug", order="newest", words=("postgres",), lists=True),
    "everything about mia": Asked(order="newest", words=("mia",), lists=True),
}


@pytest.mark.parametrize("text", LISTS)
def test_a_question_without_a_topic_lists(text: str) -> None:
    assert read(text) == LISTS[text]


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
