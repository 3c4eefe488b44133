"""Opinions on a memory for a query, and the likeness of queries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from recollect.context import SearchContext
from recollect.models.active import ActiveModels
from recollect.query.likeness import Likeness, differ_in_meaning, normalise, overlap
from recollect.recipes.registry import BUILT_IN
from recollect.settings import Settings
from recollect.verdicts import Opinion, opinions

Search = Callable[..., SearchContext]
SERVER = "“login server”"
MEMORIES = {"a": "one", "b": "two", "c": "three"}
PAIRS = [
    msgspec.json.decode(line)
    for line in Path(__file__).with_name("alike_queries.jsonl").read_bytes().splitlines()
]


def said(at: SearchContext, query: str, *given: tuple[str, str, bool]) -> dict[str, Opinion]:
    for asked, id, accepted in given:
        at.store.feedback.add(asked, id, accepted, at.now)
    return opinions(query, at.store.feedback, Likeness())


def test_without_vectors_feedback_counts_by_the_words_that_queries_share(
    search_at: Search,
) -> None:
    """`login page` and `login server` share one keyword of three."""
    at = search_at("", MEMORIES)
    given = [("login server", "a", True), ("page login", "b", False)]
    assert said(at, "the login page", *given) == {
        "a": (pytest.approx(1 / 3), False, f"you accepted this for {SERVER}, a similar question"),
        "b": (-1.0, True, "you dismissed this for “page login”"),
    }  # fmt: skip


def test_feedback_on_the_question_itself_decides_alone(search_at: Search) -> None:
    at = search_at("", MEMORIES)
    given = [("login page", "a", True), ("login", "a", False), ("the page", "a", False)]
    assert said(at, "Login page?", *given)["a"].raw == 1.0


def test_feedback_on_like_questions_adds_up_within_bounds(search_at: Search) -> None:
    at = search_at("", MEMORIES)
    given = [(f"login page {word}", "a", True) for word in ("blue", "red", "green")]
    given += [("login blue", "b", True), ("login red", "b", False)]
    found = said(at, "login page", *given)
    assert found["a"].raw == 1.0
    assert not found["a"].same
    assert found["b"].raw == 0.0


@pytest.mark.parametrize("query", ["", "the of", "?!", "kettle"])
def test_what_was_said_of_another_question_does_not_count(search_at: Search, query: str) -> None:
    assert said(search_at("", MEMORIES), query, ("login page", "a", False)) == {}


def test_queries_are_normalised_to_their_words() -> None:
    assert normalise("  How do WE\trefresh – tokens?") == "how do we refresh tokens"
    assert normalise("?!") == ""
    assert overlap("", "") == 0.0


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("pin dependencies", "not pin dependencies", True),
        ("we do pin", "we don t pin", True),
        ("python 3 11", "python 3 12", True),
        ("before march", "after march", True),
        ("error 502 there", "there is error 502", False),
    ],
)
def test_a_number_or_a_word_such_as_not_makes_another_question(
    one: str, other: str, expected: bool
) -> None:
    assert differ_in_meaning(one, other) is differ_in_meaning(other, one) is expected


def test_likeness_falls_with_the_square_of_the_distance() -> None:
    likeness = Likeness(same=0.9, related=0.7)
    values = [likeness.between("a", "b", cosine) for cosine in (1.0, 0.9, 0.8, 0.7, 0.1)]
    assert values == pytest.approx([1.0, 1.0, 0.25, 0.0, 0.0])


def test_paraphrases_are_the_same_question_and_related_questions_are_not() -> None:
    """The pairs that the thresholds were chosen on. 45 of 60 paraphrases are the same question, and
    3 of 90 others: `flight from lisbon to porto` and back is one. Other processors may round some
    cosine to the other side."""
    rule = BUILT_IN["blend"].feedback
    assert rule is not None
    embedder = ActiveModels(Settings(), {}).embedder()
    assert rule.likeness.knows(embedder.identity)
    texts = sorted({text for pair in PAIRS for text in pair["queries"]})
    vectors = dict(zip(texts, embedder.queries(texts), strict=True))
    counted = dict.fromkeys(("same", "related", "other"), 0)
    for pair in PAIRS:
        one, other = pair["queries"]
        cosine = float(vectors[one] @ vectors[other])
        alike = rule.likeness.between(normalise(one), normalise(other), cosine)
        counted[pair["verdict"]] += alike == 1.0
    assert len(PAIRS) == 150
    assert counted["same"] >= 43
    assert counted["related"] <= 5
    assert counted["other"] == 0
