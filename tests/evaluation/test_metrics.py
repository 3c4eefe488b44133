"""The measures, held against trec_eval's definitions worked out by hand, and the bootstrap."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest

from recollect_evaluation.metrics import RESAMPLES, chance, interval, measure_run, ndcg, resample


def one(returned: list[str], grades: dict[str, int]) -> tuple[float, float, float]:
    found = measure_run({"q": returned}, {"q": grades})["q"]
    return found["ndcg@10"], found["mrr@10"], found["recall@10"]


def test_graded_ndcg_has_linear_gains_and_judged_documents_that_cannot_be_found_count() -> None:
    ndcg, rr, recall = one(["b", "unjudged", "a", "c"], {"a": 3, "b": 2, "c": 1, "missing": 2})
    gained = 2 / log2(2) + 3 / log2(4) + 1 / log2(5)
    best = 3 / log2(2) + 2 / log2(3) + 2 / log2(4) + 1 / log2(5)
    assert ndcg == pytest.approx(gained / best)
    assert (rr, recall) == (1.0, 0.75)


def test_ndcg_without_trec_eval_is_the_same() -> None:
    grades = {"a": 3, "b": 2, "c": 1, "missing": 2, "not": 0}
    for ids in (["b", "x", "a", "c"], ["not"], [], [f"x{n}" for n in range(10)] + ["a"]):
        assert ndcg(ids, grades) == pytest.approx(one(ids, grades)[0])
    assert ndcg(["not"], {"not": 0}) == 0.0


def test_the_first_answer_decides_the_reciprocal_rank() -> None:
    assert one(["x", "zero", "a"], {"a": 1, "zero": 0}) == pytest.approx((1 / log2(4), 1 / 3, 1))


def test_places_stand_as_they_are_whatever_the_ids() -> None:
    """trec_eval orders equal scores by id; a place is never equal to another."""
    for first, second in (("a", "z"), ("z", "a")):
        assert one([first, second], {first: 1})[1] == 1.0
        assert one([second, first], {first: 1})[1] == 0.5


def test_what_is_returned_twice_counts_where_it_came_first() -> None:
    assert one(["x", "x", "a", "a"], {"a": 1, "b": 1}) == pytest.approx(
        (1 / log2(3) / (1 + 1 / log2(3)), 0.5, 0.5)
    )


def test_only_the_first_ten_count() -> None:
    before = [f"x{number}" for number in range(9)]
    assert one([*before, "a"], {"a": 1}) == pytest.approx((1 / log2(11), 0.1, 1))
    assert one([*before, "y", "a"], {"a": 1}) == (0, 0, 0)


def test_a_question_that_returned_nothing_counts_nothing() -> None:
    found = measure_run({"q": [], "r": ["a"]}, {"q": {"a": 1}, "r": {"a": 1}})
    assert list(found) == ["q", "r"]
    assert set(found["q"].values()) == {0.0}
    assert set(found["r"].values()) == {1.0}


def test_a_grade_below_zero_is_as_good_as_not_relevant() -> None:
    assert one(["bad", "a"], {"bad": -2, "a": 1}) == one(["zero", "a"], {"zero": 0, "a": 1})


def test_the_interval_is_that_of_the_mean() -> None:
    """Of 400 values, half 0 and half 1, the mean's standard error is 0.025."""
    [means] = resample([[0.0, 1.0] * 200])
    assert len(means) == RESAMPLES
    low, high = interval(means)
    assert low == pytest.approx(0.5 - 1.96 * 0.025, abs=0.005)
    assert high == pytest.approx(0.5 + 1.96 * 0.025, abs=0.005)


def test_the_bootstrap_is_the_same_for_the_same_seed_and_pairs_its_columns() -> None:
    draw = np.random.default_rng(1)
    mine, theirs = draw.random(300).tolist(), draw.random(300).tolist()
    apart = [a - b for a, b in zip(mine, theirs, strict=True)]
    first, second, difference = resample([mine, theirs, apart])
    assert difference == pytest.approx(first - second)
    assert resample([mine])[0] == pytest.approx(first)
    assert (resample([mine], seed=1)[0] != first).any()


def test_one_question_has_an_interval_of_no_width() -> None:
    [means] = resample([[0.3]])
    assert interval(means) == pytest.approx((0.3, 0.3))


def test_chance_tells_a_real_difference_from_none() -> None:
    [none, small, large] = resample([[0.0] * 100, [0.1, -0.1] * 50, [0.1, 0.0] * 50])
    assert chance(none) == 1.0
    assert chance(small) > 0.5
    assert chance(large) == pytest.approx(2 / (RESAMPLES + 1))
    assert chance(-large) == chance(large)
