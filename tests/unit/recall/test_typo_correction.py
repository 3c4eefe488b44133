"""`correct_typos`: corrections of words that no memory has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from recollect.context import SearchContext
from recollect.recall.keyword import Keyword
from recollect.recipes.ranges import Depth

Search = Callable[..., SearchContext]
MEMORIES = {"a": "Retention of logs.", "b": "The wall is blue.", "c": "It deploys."}


def keyword(correct_typos: bool) -> Keyword:
    return Keyword(
        index="stemmed",
        columns={"title": 1.0, "text": 1.0},
        reading="keywords",
        depth=Depth(at_least=10),
        correct_typos=correct_typos,
    )


def search_corrected(at: SearchContext) -> list[str]:
    keyword(correct_typos=True).recall(at)
    return [word for words in at.understanding.corrections.values() for word in words]


def test_a_corrected_word_is_searched_for_as_well_and_said(search_at: Search) -> None:
    at = search_at("retntion wall", MEMORIES)
    assert set(keyword(correct_typos=True).recall(at).ids) == {"a", "b"}
    assert at.notes == ["No memory holds 'retntion': searched for retention as well."]


def test_who_does_not_correct_takes_words_as_typed(search_at: Search) -> None:
    at = search_at("retntion wall", MEMORIES)
    assert keyword(correct_typos=False).recall(at).ids == ("b",)
    assert at.notes == []


@pytest.mark.parametrize(
    "query",
    [
        "retention",  # it is there
        "deployed",  # another form of it is there
        "wlal",  # too short to tell
        "zebra",  # nothing is near
        "the of",
        "",
    ],
)
def test_what_is_there_too_short_or_near_nothing_is_not_corrected(
    search_at: Search, query: str
) -> None:
    at = search_at(query, MEMORIES)
    assert search_corrected(at) == []
    assert at.notes == []


def test_several_words_may_be_meant(search_at: Search) -> None:
    at = search_at("anchr", {"a": "anchor", "b": "anchor anchar", "c": "anchorage"})
    assert search_corrected(at) == ["anchor", "anchar"]
    assert at.notes == ["No memory holds 'anchr': searched for anchor, anchar as well."]


def test_a_word_mistyped_twice_is_told_once(search_at: Search) -> None:
    at = search_at("retntion retntion", MEMORIES)
    assert search_corrected(at) == ["retention"]
    assert len(at.notes) == 1


def test_who_asks_for_words_as_typed_gets_no_correction(search_at: Search) -> None:
    at = search_at("retntion wall", MEMORIES, literal=True)
    assert keyword(correct_typos=True).recall(at).ids == ("b",)
    assert at.notes == []


@pytest.mark.parametrize("query", ["FlieSyncService", "file_sycn_service", "SyncServcie", "sycnr"])
def test_identifiers_are_corrected_by_their_parts(search_at: Search, query: str) -> None:
    at = search_at(query, {"a": "FileSyncService", "b": "The file is in sync.", "c": "services"})
    assert bool(search_corrected(at)) is (query != "sycnr")


@pytest.mark.parametrize(
    "field", ["title", "text", "context", "why", "impact", "project", "source", "kind", "tags"]
)
def test_a_word_in_any_field_is_not_corrected(search_at: Search, field: str) -> None:
    """`qubitt` stands beside it, one letter away."""
    word = ["qubitz"] if field == "tags" else "qubitz"
    memories = {"a": {"title": "x", field: word}, "b": "The qubitt stays."}
    assert search_corrected(search_at("qubitz", memories)) == []


def test_of_a_long_query_only_the_first_unknown_words_are_looked_at(search_at: Search) -> None:
    others = " ".join(f"other{letter}" for letter in "abcdefgh")
    assert search_corrected(search_at(f"{others} retntion", MEMORIES)) == []
    assert search_corrected(search_at(f"retntion {others}", {})) == ["retention"]


def test_a_search_whose_words_are_all_there_reads_nothing_to_correct_them(
    search_at: Search,
) -> None:
    assert statements(search_at("retention of the wall", MEMORIES)) == []


def test_a_typing_error_costs_a_few_statements(search_at: Search) -> None:
    """Three look-ups of the word and one of words that begin like it, each asking for segments too,
    and one of what is an error away; ranges only where that fails."""
    assert len(statements(search_at("retntion", MEMORIES))) == 8
    ranges = [sql for sql in statements(search_at("xylophonist", {})) if " >= ? AND " in sql]
    assert len(ranges) == 5


def statements(at: SearchContext) -> list[str]:
    """The queries of the corrections to the database."""
    asked: list[str] = []

    def remember(cursor: object, sql: str, values: object) -> bool:
        asked.append(sql)
        return True

    assert at.understanding.frequencies is not None
    assert at.understanding.holding is not None
    connection = at.store.database.connection()  # type: ignore[attr-defined]
    connection.exec_trace = remember
    try:
        assert at.understanding.corrections is not None
    finally:
        connection.exec_trace = None
    return [sql for sql in asked if sql.lstrip().startswith("SELECT")]


@pytest.mark.parametrize(
    ("word", "asked"),
    [
        # Nowhere: each index once, words that begin alike, and near words by their beginning.
        ("zqwexrtin", {"holding": 1, "terms": 3, "beginning": 2}),
        ("retntion", {"holding": 1, "terms": 3, "beginning": 1}),  # a near word: no more is asked
        ("zqw", {"holding": 1}),  # too short to be corrected
        ("frobnicated", {"holding": 1, "terms": 1}),  # another form is there
    ],
)
def test_nothing_is_asked_twice_or_for_nothing(
    search_at: Search, monkeypatch: pytest.MonkeyPatch, word: str, asked: dict[str, int]
) -> None:
    at = search_at(word, MEMORIES | {"d": "It frobnicates."})
    counted: Counter[str] = Counter()

    def counting(part: object, name: str) -> None:
        plain = getattr(part, name)

        def call(*arguments: object) -> object:
            counted[name] += 1
            return plain(*arguments)

        monkeypatch.setattr(part, name, call)

    for name in ("terms", "holding"):
        counting(at.store.keyword, name)
    counting(at.store.vocabulary, "beginning")
    assert at.understanding.corrections == ({"retntion": ["retention"]} if "ret" in word else {})
    assert counted == asked


def test_words_are_looked_up_without_making_a_table_each_time(search_at: Search) -> None:
    at = search_at("retntion", MEMORIES)
    search_corrected(at)
    asked: list[str] = []
    connection = at.store.database.connection()  # type: ignore[attr-defined]

    def trace(cursor: object, sql: str, values: object) -> bool:
        asked.append(sql)
        return True

    connection.exec_trace = trace
    search_corrected(search_at("deploing walll"))
    connection.exec_trace = None
    assert any("_row WHERE term" in sql for sql in asked)
    assert not any(sql.lstrip().startswith("CREATE") for sql in asked)
