"""Whatever a query holds, its fields are read without an error, and everything else stays."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from examples import examples
from recollect.query.fields import FIELDS, query_of, read_fields
from recollect.query.terms import words
from recollect.types import Filter

PIECES = st.one_of(
    st.sampled_from([f"{sign}{name}:" for name in (*FIELDS, "foo") for sign in ("", "-")]),
    st.sampled_from(["AND ", "OR ", "NOT ", '"', "'", "`", " ", ":", ",", "-", "//", "(", ")"]),
    st.sampled_from(["bug", "harbor", "1.4", "http://x", "std::vector", "12:30"]),
    st.text(max_size=4),
)
QUERIES = st.one_of(st.text(), st.lists(PIECES, max_size=14).map("".join))


@given(QUERIES)
@example("kind:bug OR kind:fact OR x")
@example('kind:"a" "kind:b')
@settings(max_examples=examples(2000))
def test_any_text_survives(text: str) -> None:
    read = read_fields(text)
    if not read.readings:
        assert read == (text, Filter(), ())
        return
    assert read.filter != Filter()
    assert set(words(read.text)) <= set(words(text))
    assert read_fields(read.text) == (read.text, Filter(), ())  # another server reads it once more


@given(st.text(alphabet=st.characters(exclude_characters=":")))
@settings(max_examples=examples(500))
def test_a_text_without_a_colon_stays(text: str) -> None:
    assert read_fields(text) == (text, Filter(), ())


@given(QUERIES, st.sampled_from([*FIELDS]))
@settings(max_examples=examples(500))
def test_a_reading_that_is_ignored_is_not_read(text: str, name: str) -> None:
    readings = read_fields(f"{name}:x {text}").readings
    again = read_fields(f"{name}:x {text}", frozenset(readings))
    assert not set(again.readings) & set(readings)


@given(st.lists(st.text(min_size=1)))
@settings(max_examples=examples(500))
def test_the_words_of_a_line_are_the_words_of_the_query(typed: list[str]) -> None:
    assert words(query_of(typed)) == words(" ".join(typed))
