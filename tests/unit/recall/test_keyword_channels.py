"""The channels that search by words: exact terms, typing errors, and a small vault's scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from recollect import Recollect
from recollect.context import SearchContext
from recollect.recall.keyword import Exact, Keyword
from recollect.recipes.blend import BLEND, DEPTH
from recollect.recipes.ranges import Depth
from recollect.settings import Embedding, Rerank, Settings
from recollect.types import Ranking, Result

Search = Callable[..., SearchContext]
NO_MODELS = Settings(embedding=Embedding("none"), rerank=Rerank("none"))


# Exact terms

CHANNEL = Exact(each=2)


def exact_hits(at: SearchContext) -> dict[str, tuple[float, str]]:
    return {hit.memory_id: (hit.score, hit.why.formula) for hit in CHANNEL.recall(at)}


def test_a_memory_counts_by_how_many_exact_terms_it_holds(search_at: Search) -> None:
    at = search_at(
        "getUserByID in 1.4",
        {"both": "getUserByID came with 1.4.", "one": "1.4 is old.", "none": "get a user by hand"},
    )
    assert exact_hits(at) == {"both": (2.0, "holds getUserByID, 1.4"), "one": (1.0, "holds 1.4")}
    assert CHANNEL.recall(at).ids == ("both", "one")
    assert CHANNEL.applies(at)


def test_each_exact_term_brings_a_limited_number_of_memories(search_at: Search) -> None:
    """Of four that are equal, those with the smallest ids; each term brings its own."""
    at = search_at("v1 v2", {**{f"one-{n}": "v1" for n in range(4)}, "two": "v2"})
    assert sorted(exact_hits(at)) == ["one-0", "one-1", "two"]


@pytest.mark.parametrize("query", ["", "?", "plain words", "the of", "--", "$$$", '"---"', '"?"'])
def test_without_exact_terms_of_letters_or_digits_it_finds_nothing(
    search_at: Search, query: str
) -> None:
    assert exact_hits(search_at(query, {f"m{n}": "plain words --" for n in range(5)})) == {}


def test_a_name_with_signs_is_found_among_many_that_hold_its_letters(search_at: Search) -> None:
    """Short texts have the letter more often, and rank above it in every index."""
    crowd = {f"crowd-{n:03}": "c c" for n in range(150)}
    at = search_at("C++", {**crowd, "name": "We chose C++ for the parser.", "other": "C#"})
    assert (BLEND.recall[0].recall(at) or Ranking()).ids == ("name",)
    assert exact_hits(at) == {"name": (1.0, "holds C++")}


def test_other_keyword_channels_do_not_read_the_signs(search_at: Search) -> None:
    at = search_at("C++ parser", {"name": "C++", "word": "The parser."})
    assert Keyword("stemmed", {"text": 1.0}, "keywords", DEPTH).recall(at).ids == ("word",)
    assert at.understanding.written_matches() == {}


# Typing errors

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


@pytest.mark.parametrize(("correct_typos", "literal"), [(False, False), (True, True)])
def test_a_recipe_or_a_search_can_take_words_as_typed(
    search_at: Search, correct_typos: bool, literal: bool
) -> None:
    at = search_at("retntion wall", MEMORIES, literal=literal)
    assert keyword(correct_typos).recall(at).ids == ("b",)
    assert at.notes == []


def test_several_words_may_be_meant(search_at: Search) -> None:
    at = search_at("anchr anchr", {"a": "anchor", "b": "anchor anchar", "c": "anchorage"})
    assert search_corrected(at) == ["anchor", "anchar"]
    assert at.notes == ["No memory holds 'anchr': searched for anchor, anchar as well."]


@pytest.mark.parametrize(
    "field", ["title", "text", "context", "why", "impact", "project", "source", "kind", "tags"]
)
def test_a_word_in_any_field_is_not_corrected(search_at: Search, field: str) -> None:
    """Another memory has `qubitt`, one letter away."""
    word = ["qubitz"] if field == "tags" else "qubitz"
    memories = {"a": {"title": "x", field: word}, "b": "The qubitt stays."}
    assert search_corrected(search_at("qubitz", memories)) == []


def test_only_the_first_unknown_words_of_a_long_query_are_corrected(search_at: Search) -> None:
    others = " ".join(f"other{letter}" for letter in "abcdefgh")
    assert search_corrected(search_at(f"{others} retntion", MEMORIES)) == []
    assert search_corrected(search_at(f"retntion {others}", {})) == ["retention"]


def test_a_search_whose_words_are_all_there_reads_nothing_to_correct_them(
    search_at: Search,
) -> None:
    sent = statements(search_at("retention of the wall", MEMORIES))
    assert not any(sql.startswith("SELECT") for sql in sent)


def test_a_typing_error_costs_a_few_statements(search_at: Search) -> None:
    """Three look-ups of the word and one of words that begin like it, each asking for segments too,
    and one of what is an error away; ranges only where that fails. Tables are made once."""
    sent = statements(search_at("retntion", MEMORIES))
    assert sum(sql.startswith("SELECT") for sql in sent) == 8
    sent = statements(search_at("deploing walll"))
    assert any("_row WHERE term" in sql for sql in sent)
    assert not any(sql.startswith("CREATE") for sql in sent)
    sent = statements(search_at("xylophonist", {}))
    assert sum(sql.startswith("SELECT") and " >= ? AND " in sql for sql in sent) == 5


def statements(at: SearchContext) -> list[str]:
    """Return what the corrections send to the database."""
    assert at.understanding.frequencies is not None
    assert at.understanding.holding is not None
    sent: list[str] = []

    def remember(cursor: object, sql: str, values: object) -> bool:
        sent.append(sql.lstrip())
        return True

    connection = at.store.database.connection()  # type: ignore[attr-defined]
    connection.exec_trace = remember
    try:
        assert at.understanding.corrections is not None
    finally:
        connection.exec_trace = None
    return sent


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
def test_no_look_up_is_made_twice_or_in_vain(
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


# The rarity of words in a small vault

NOT_SMOOTH = {"recall.keyword.smooth": False, "recall.subwords.smooth": False}


def keyword_share(result: Result) -> float:
    [term] = [leaf for leaf in result.explain.leaves() if leaf.name == "keyword"]
    assert term.raw is not None
    return term.raw


def test_word_scores_and_their_maximum_are_on_one_scale(tmp_path: Path) -> None:
    """Half of the memories hold both words: only with some more memories do they tell anything."""
    with Recollect(home=tmp_path, settings=NO_MODELS) as memory:
        for number in range(4):
            memory.save(title="harbor pilots" if number < 2 else f"lantern {number}")
        [found, *_] = memory.search("harbor pilots").results
        [bare, *_] = memory.search("harbor pilots", changes=NOT_SMOOTH).results
        [missing, *_] = memory.search("harbor pilots violin").results
        [lost, *_] = memory.search("harbor pilots violin", changes=NOT_SMOOTH).results
    assert keyword_share(found) > 0.8
    assert keyword_share(bare) == pytest.approx(keyword_share(found))
    assert keyword_share(lost) < keyword_share(missing) < keyword_share(found)
