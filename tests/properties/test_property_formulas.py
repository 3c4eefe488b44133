"""The formulas: their ranges, their monotony, their symmetries."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from examples import examples
from recollect.fuse import reciprocal
from recollect.maths import logistic
from recollect.query.terms import STOP_WORDS, keywords, words
from recollect.signals.properties import half_life, hyperbolic, jaccard, window
from recollect.signals.words import cosine, holds_all, idf, tfidf
from recollect.stages.rerank import Skip
from recollect.stages.signal_sums import Adaptive
from recollect.types import Memory

fast = settings(max_examples=examples(200))
moments = st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1)).map(
    lambda moment: moment.replace(tzinfo=UTC)
)
tags = st.frozensets(st.sampled_from("abcdefgh"), max_size=6)


@given(updated=moments, now=moments, later=st.timedeltas(timedelta(0), timedelta(days=4000)))
@fast
def test_decay_and_recency_are_in_0_to_1_and_fall_with_age(
    updated: datetime, now: datetime, later: timedelta
) -> None:
    first, second = (half_life(updated, moment, 365).raw for moment in (now, now + later))
    assert 0 <= second <= first <= 1
    assert first == 1 or now > updated
    first, second = (hyperbolic(updated, moment).raw for moment in (now, now + later))
    assert 0 < second <= first <= 1


@given(age=st.timedeltas(timedelta(0), timedelta(days=20000)))
@fast
def test_a_year_more_halves_the_decay(age: timedelta) -> None:
    now = datetime(2100, 1, 1, tzinfo=UTC)
    one, other = (half_life(now - old, now, 365).raw for old in (age, age + timedelta(days=365)))
    assert other == pytest.approx(one / 2)


@given(
    start=moments,
    until=moments,
    now=moments,
    later=st.timedeltas(timedelta(0), timedelta(days=4000)),
)
@fast
def test_a_window_is_in_0_to_1_and_falls_towards_its_end(
    start: datetime, until: datetime, now: datetime, later: timedelta
) -> None:
    memory = Memory(id="m", created_at=start, updated_at=start, valid_until=until)
    first, second = (window(memory, until, moment, 0.25).raw for moment in (now, now + later))
    assert 0 <= second <= first <= 1
    assert (first == 0) == (now >= until)


@given(one=tags, other=tags)
@fast
def test_jaccard_is_symmetric_and_1_for_equals(one: frozenset[str], other: frozenset[str]) -> None:
    assert jaccard(one, other) == jaccard(other, one)
    assert 0 <= jaccard(one, other) <= 1
    assert (jaccard(one, other) == 1) == (one == other and bool(one))
    assert (jaccard(one, other) == 0) == (not one & other)


@given(documents=st.integers(0, 10**9), data=st.data())
@fast
def test_idf_is_positive_and_falls_as_more_hold_the_token(
    documents: int, data: st.DataObject
) -> None:
    holding = data.draw(st.integers(0, documents))
    more = data.draw(st.integers(holding, documents))
    assert idf(documents, holding) >= idf(documents, more) >= 1


sparse = st.dictionaries(st.sampled_from("abcdef"), st.floats(1e-3, 1e3), max_size=6)


@given(one=sparse, other=sparse, factor=st.floats(0.1, 10))
@fast
def test_the_sparse_cosine_is_symmetric_and_ignores_length(
    one: dict[str, float], other: dict[str, float], factor: float
) -> None:
    value = cosine(one, other)
    assert value == pytest.approx(cosine(other, one))
    assert 0 <= value <= 1 + 1e-9
    longer = {token: weight * factor for token, weight in one.items()}
    assert cosine(longer, other) == pytest.approx(value)
    assert cosine(one, one) == pytest.approx(1.0 if one else 0.0)
    assert cosine(one, {}) == 0


@given(found=st.lists(st.sampled_from("abc"), max_size=20))
@fast
def test_term_frequencies_are_shares(found: list[str]) -> None:
    made = tfidf(found, dict.fromkeys("abc", 1.0))
    assert sum(made.values()) == pytest.approx(1.0 if found else 0.0)


@given(rank=st.integers(1, 10**6), k=st.floats(0, 1000))
@fast
def test_a_better_rank_is_worth_more(rank: int, k: float) -> None:
    assert 0 < reciprocal(rank + 1, k) < reciprocal(rank, k) <= 1


@given(x=st.floats(-1e6, 1e6), more=st.floats(0, 1e6))
@fast
def test_the_logistic_function_rises_from_0_to_1(x: float, more: float) -> None:
    assert 0 <= logistic(x) <= logistic(x + more) <= 1
    assert logistic(x) + logistic(-x) == pytest.approx(1)


@given(
    rrf=st.floats(0, 2 / 61),
    more=st.floats(0, 0.01),
    cosine=st.none() | st.floats(0, 1),
)
@fast
def test_unverified_scores_stay_between_40_and_70(
    rrf: float, more: float, cosine: float | None
) -> None:
    low, high = (Skip().score(one, cosine, largest=2 / 61).value for one in (rrf, rrf + more))
    assert 0.40 <= low <= high <= 0.70


@given(accepted=st.integers(0, 500), dismissed=st.integers(0, 500))
@fast
def test_adapted_weights_sum_to_1_and_stay_in_their_span(accepted: int, dismissed: int) -> None:
    adaptive = Adaptive(signal="semantic", fixed=("vector",))
    for semantic, vector in ((0.40, 0.00), (0.25, 0.15)):
        weights = {"semantic": semantic, "vector": vector, **dict.fromkeys("abcd", 0.15)}
        adapted = adaptive.adapt(weights, accepted, dismissed)
        assert sum(adapted.values()) == pytest.approx(1.0)
        assert abs(adapted["semantic"] - semantic) <= 0.15 + 1e-12
        assert adapted["vector"] == vector
        assert len({round(adapted[name], 12) for name in "abcd"}) == 1
        if accepted + dismissed < 30:
            assert adapted == weights
        elif accepted > dismissed:
            assert adapted["semantic"] > semantic
        elif accepted < dismissed:
            assert adapted["semantic"] < semantic


@given(text=st.text())
@fast
def test_terms_are_words_of_the_text(text: str) -> None:
    held = unicodedata.normalize("NFC", text)
    assert all(word in held and word.replace("_", "a").isalnum() for word in words(text))
    for term in keywords(text):
        assert len(term) > 1
        assert term not in STOP_WORDS
        assert term == term.lower()
    assert keywords(text.upper() + " the A of") == keywords(text.upper())


@given(title=st.text(), query=st.text(max_size=8))
@example(title="ΟΔΟΣ", query="ΟΔΟΣ")
@fast
def test_a_title_holds_what_it_was_made_of(title: str, query: str) -> None:
    """In the middle of a word too, where a Greek capital sigma has another small letter."""
    assert holds_all(f"{title}{query}{title}", query) == bool(query.split())
    assert not holds_all(title, " ")
