"""Memories that say the same take one place."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from planned_search import fused_ranking

from recollect.context import SearchContext
from recollect.query.sameness import FILLERS, TURNING, Wording, same
from recollect.query.terms import STOP_WORDS
from recollect.stages.ending import NearDuplicates
from recollect.types import recompute

Search = Callable[..., SearchContext]
STAGE = NearDuplicates(alike=0.9)


def words(text: str) -> set[str]:
    return set(text.split())


TEN = "a b c d e f g h i j"


@pytest.mark.parametrize(
    ("one", "other", "so"),
    [
        (TEN, TEN, True),
        (TEN, f"{TEN} k", True),  # ten of eleven are more than nine tenths
        (f"{TEN} k", TEN, True),
        (TEN, f"{TEN} k l", False),  # ten of twelve are not
        (TEN, f"{TEN} 7", False),  # a number more
        (TEN, f"{TEN} v2", False),
        (TEN, f"{TEN} not", False),
        (TEN, f"{TEN} never", False),
        (TEN, f"{TEN} befor", False),
        (f"{TEN} k", f"{TEN} l", False),  # a word for another
        ("", "", False),
        ("", "a", False),
    ],
)
def test_the_same_is_equal_or_a_few_words_more(one: str, other: str, so: bool) -> None:
    assert same(words(one), words(other), 0.9) is so
    assert same(words(other), words(one), 0.9) is so


def test_a_wording_has_stems_without_fillers(search_at: Search) -> None:
    at = search_at(
        "",
        {
            "text": {"title": "Vault", "text": "The keys are NOT rotated.", "context": "Ops"},
            "title": {"title": "Rotate keys"},
        },
    )
    assert at.text("text").wording == Wording.of(["vault"], ["kei", "not", "rotat", "op"])
    assert at.text("title").wording == Wording.of(["rotat", "kei"], [])


def test_values_only_in_titles_keep_memories_apart(search_at: Search) -> None:
    at = search_at(
        "",
        {
            "old": {"title": "Staging listens on 8443", "text": "Ask ops before you change it."},
            "new": {"title": "Staging listens on 9443", "text": "Ask ops before you change it."},
            "again": {"title": "staging listens on: 9443", "text": "Ask Ops before you change it!"},
        },
    )
    ranking = STAGE.apply(fused_ranking(old=3.0, new=2.0, again=1.0), at)
    assert ranking.ids == ("old", "new")
    assert [memory.id for memory in ranking.hits[1].findings.same] == ["again"]


@pytest.mark.parametrize(
    ("one", "other", "shown"),
    [
        ("Stand-up", "When we meet", ("a",)),  # names of the same text
        ("Stand-up", "Stand-up of the team", ("a",)),
        ("", "Stand-up", ("a",)),
        ("Anna's stand-up", "Tom's stand-up", ("a", "b")),  # values
        ("Stand-up", "Stand-up 2", ("a", "b")),
        ("Stand-up", "No stand-up", ("a", "b")),
    ],
)
def test_titles_that_only_name_a_statement_may_differ(
    search_at: Search, one: str, other: str, shown: tuple[str, ...]
) -> None:
    text = "It is at half past nine in the small room behind the kitchen."
    at = search_at("", {"a": {"title": one, "text": text}, "b": {"title": other, "text": text}})
    assert STAGE.apply(fused_ranking(a=2.0, b=1.0), at).ids == shown


def test_fillers_and_turning_words_are_known_by_their_stems(search_at: Search) -> None:
    tokens = search_at("").store.keyword.tokens
    assert set(tokens(" ".join(STOP_WORDS))) <= FILLERS
    turning = "no not never none without except unless until before after"
    assert set(tokens(turning)) == TURNING
    assert not TURNING & FILLERS


@pytest.mark.parametrize("word", ["not", "never", "before", "unless", "without", "2"])
def test_one_word_that_turns_the_meaning_keeps_memories_apart(search_at: Search, word: str) -> None:
    text = "Ship on Friday morning when Anna, Tom, Lena and Okonkwo tested login, search, mail"
    at = search_at("", {"a": f"{text}.", "b": f"{text} {word}.", "c": f"{text}, again."})
    assert STAGE.apply(fused_ranking(a=3.0, b=2.0, c=1.0), at).ids == ("a", "b")


def test_the_best_is_shown_and_names_the_others(search_at: Search) -> None:
    text = "Keys rotate every ninety days."
    at = search_at(
        "",
        {
            "best": text,
            "second": text.upper(),
            "third": f"The {text}",
            "other": "Keys rotate every sixty days.",
        },
    )
    before = fused_ranking(best=4.0, other=3.0, second=2.0, third=1.0)
    ranking = STAGE.apply(before, at)
    assert [(hit.memory_id, hit.why) for hit in ranking] == [
        (hit.memory_id, hit.why) for hit in before.hits[:2]
    ]
    assert ranking.dropped == {"pool": 3, "near_duplicates": 2}
    same = {hit.memory_id: [memory.id for memory in hit.findings.same] for hit in ranking}
    assert same == {"best": ["second", "third"], "other": []}
    assert all(recompute(hit.why) == hit.score for hit in ranking)


def test_projects_and_spaces_are_apart(search_at: Search) -> None:
    at = search_at(
        "",
        {
            "a": {"text": "Same words.", "project": "harbor"},
            "b": {"text": "Same words.", "project": "tower"},
            "c": {"text": "Same words.", "project": "harbor", "space": "home"},
            "d": {"text": "Same words.", "project": "harbor"},
        },
    )
    assert STAGE.apply(fused_ranking(a=4.0, b=3.0, c=2.0, d=1.0), at).ids == ("a", "b", "c")


@pytest.mark.parametrize(("limit", "shown"), [(1, ("a", "b", "c")), (3, ("a", "b"))])
def test_only_the_best_are_compared(search_at: Search, limit: int, shown: tuple[str, ...]) -> None:
    """As many as are asked for, and `top` at least."""
    memories = {"a": "Same words.", "b": "Other words.", "c": "Same words."}
    at = search_at("", memories, limit=limit)
    assert NearDuplicates(top=2).apply(fused_ranking(a=3.0, b=2.0, c=1.0), at).ids == shown


@pytest.mark.parametrize("scores", [{}, {"a": 1.0}, {"a": 2.0, "b": 1.0}])
def test_without_duplicates_nothing_changes(search_at: Search, scores: dict[str, float]) -> None:
    """Two memories of signs alone say nothing, and so not the same."""
    at = search_at("", {"a": {"title": "…"}, "b": {"title": "…"}})
    before = fused_ranking(**scores)
    assert STAGE.apply(before, at) is before


def test_none_are_hidden_where_that_is_switched_off(search_at: Search) -> None:
    at = search_at("", {"a": "Same words.", "b": "Same words."})
    before = fused_ranking(a=2.0, b=1.0)
    assert NearDuplicates(top=0).apply(before, at) is before
