"""`boolean` reads FTS5's syntax exactly: what FTS5 accepts finds the same rows, with the same BM25,
as the raw text does; what FTS5 refuses is searched as plain words."""

from __future__ import annotations

import random

import apsw
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from examples import examples
from recollect.query.fts5 import DEEPEST, MOST_NOTS, MOST_TERMS, all_of, any_of, boolean
from recollect.query.terms import words

fast = settings(max_examples=examples(400))
COLUMNS = ("title", "text", "tags")
VOCABULARY = "one two three four five six near and or not title tags one_two été 東京".split()


def index(*columns: str) -> apsw.Connection:
    """Sixty short random rows."""
    chance = random.Random(7)
    connection = apsw.Connection(":memory:")
    connection.execute(f"CREATE VIRTUAL TABLE rows USING fts5 ({', '.join(columns)})")
    for _ in range(60):
        row = [" ".join(chance.choices(VOCABULARY, k=chance.randint(0, 6))) for _ in columns]
        connection.execute(f"INSERT INTO rows VALUES ({', '.join('?' * len(row))})", row)
    return connection


ROWS = index(*COLUMNS)
OTHER_ROWS = index("text", "notes")


def matches(expression: str, rows: apsw.Connection = ROWS) -> list[tuple[object, ...]]:
    """Row and BM25; an empty expression matches nothing."""
    if not expression:
        return []
    sql = "SELECT rowid, bm25(rows, 10.0, 1.0, 5.0) FROM rows WHERE rows MATCH ? ORDER BY rowid"
    return rows.execute(sql, (expression,)).fetchall()


def is_refused(query: str, rows: apsw.Connection = ROWS) -> bool:
    """Whether FTS5 does not accept it as a query; `*…` asks for its internals instead."""
    if query.startswith("*"):
        return True
    try:
        matches(query, rows)
    except apsw.SQLError:
        return True
    return not query


def check(query: str, rows: apsw.Connection = ROWS, columns: tuple[str, ...] = COLUMNS) -> None:
    written = boolean(query, columns)
    if is_refused(query, rows):
        assert written == all_of(words(query))
        matches(written, rows)
    else:
        assert matches(written, rows) == matches(query, rows)


# What FTS5's grammar allows

strings = st.lists(st.sampled_from(VOCABULARY), max_size=3).map(lambda some: f'"{" ".join(some)}"')
barewords = st.sampled_from([*VOCABULARY, "AN", "NEAR", "OnE", "\u00a0", "_", "\x1a"])
texts = st.tuples(strings | barewords, st.sampled_from(["", "*", " *"])).map("".join)
phrases = st.lists(texts, min_size=1, max_size=2).map(" + ".join)
nears = st.tuples(
    st.lists(phrases, min_size=1, max_size=3).map(" ".join),
    st.sampled_from(["", ", 0", ", 3", ",10", ", 99999999999"]),
).map(lambda parts: f"NEAR({parts[0]}{parts[1]})")
starts = phrases.map(lambda phrase: f"^ {phrase}")
filtered = st.sampled_from(
    ["title : ", "TEXT:", '"tags" :', "{title tags} : ", "- title : ", "-{text tags}:"]
)
terms = st.tuples(st.just("") | filtered, phrases | nears | starts).map("".join)
side_by_side = st.lists(terms, min_size=1, max_size=3).map(" ".join)


def larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    joined = st.tuples(inner, st.sampled_from([" AND ", " OR ", " NOT "]), inner).map("".join)
    grouped = st.tuples(st.just("") | filtered, inner).map(lambda two: f"{two[0]}({two[1]})")
    return joined | grouped


expressions = st.recursive(side_by_side, larger, max_leaves=8)


@given(query=expressions)
@example(query='one AND ""')
@example(query='"" OR one')
@example(query='one NOT ""')
@example(query="one _ two")
@example(query="title : (one OR tags : two)")
@example(query="one* + two NOT NEAR(three four, 2)")
@fast
def test_valid_queries_find_what_fts5_finds(query: str) -> None:
    assert not is_refused(query)
    check(query)


SIGNS = [*"()\"':+*^,-{}\t", "AND", "OR", "NOT", "NEAR"]
soup = st.lists(st.sampled_from([*SIGNS, *VOCABULARY, "\x0b", "é"]), max_size=9)


@given(pieces=soup, glue=st.sampled_from(["", " "]))
@example(pieces=["one", "(", "two", "OR", "three", ")"], glue=" ")
@example(pieces=["(", "one", ")", "two"], glue=" ")
@example(pieces=["one", "(", "two", ")"], glue="")
@example(pieces=["title", ":", "text", ":", "one"], glue="")
@example(pieces=["NEAR", "(", "^", "one", ")"], glue=" ")
@example(pieces=["*", "reads"], glue="")
@example(pieces=["\x0b", "one"], glue=" ")
@fast
def test_anything_else_is_plain_words_or_what_fts5_makes_of_it(
    pieces: list[str], glue: str
) -> None:
    check(glue.join(pieces))


@given(query=st.text(max_size=40).filter(lambda text: "\0" not in text))
@fast
def test_any_text_is_plain_words_or_what_fts5_makes_of_it(query: str) -> None:
    check(query)


@given(query=expressions)
@fast
def test_columns_that_are_not_there_make_a_query_plain_words(query: str) -> None:
    """Another index, with a column `text` but neither `title` nor `tags`."""
    check(query, OTHER_ROWS, ("text", "notes"))


@pytest.mark.parametrize("depth", [1, DEEPEST, DEEPEST + 1, 97, 98, 5000])
def test_nesting_is_read_up_to_a_depth_and_never_an_error(depth: int) -> None:
    query = "(" * depth + "one" + ")" * depth
    written = boolean(query, COLUMNS)
    assert matches(written) == matches("one")
    assert written == (all_of(["one"]) if depth > DEEPEST else f'{query[:depth]}"one"{")" * depth}')


@pytest.mark.parametrize("shape", ["(one OR two AND ", "(one NOT ", "(one AND ", "title : ("])
@pytest.mark.parametrize("depth", [5, 20, 30, 60, 500])
def test_any_nesting_is_accepted_by_fts5_or_plain_words(shape: str, depth: int) -> None:
    query = shape * depth + "three" + ")" * depth
    written = boolean(query, COLUMNS)
    assert matches(written) == (
        matches(all_of(words(query))) if written == all_of(words(query)) else matches(query)
    )


@pytest.mark.parametrize("nots", [1, MOST_NOTS // 2, MOST_NOTS, MOST_NOTS + 1, 300])
def test_exclusions_are_read_up_to_a_number(nots: int) -> None:
    query = "one" + " NOT two" * nots
    terms = 1 + 2 * nots
    written = boolean(query, COLUMNS)
    plain = nots > MOST_NOTS or terms > MOST_TERMS
    assert (written == all_of(words(query))) == plain
    assert matches(written) == (matches(all_of(words(query))) if plain else matches(query))


@given(terms=st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=6))
@fast
def test_quoted_terms_are_never_syntax(terms: list[str]) -> None:
    """Whatever a term holds, FTS5 reads it as one string."""
    for expression in (any_of(terms), all_of(terms)):
        matches(expression)
