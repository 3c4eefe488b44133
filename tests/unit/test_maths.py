"""Batches of items, and the logistic function."""

from __future__ import annotations

from itertools import count, islice

import pytest

from recollect.maths import batched, logistic, logit


def test_batches_are_in_order_and_end_by_count_or_size() -> None:
    assert list(batched(range(5), 2)) == [[0, 1], [2, 3], [4]]
    assert list(batched([], 2)) == []
    assert list(batched([1, 9, 3, 3, 3], 3, int, 9)) == [[1, 9], [3, 3, 3]]


def test_only_the_needed_items_are_read() -> None:
    numbers = count()
    assert list(islice(batched(numbers, 3), 2)) == [[0, 1, 2], [3, 4, 5]]
    assert next(numbers) == 6


def test_the_logistic_function_and_its_inverse_take_any_number() -> None:
    assert (logistic(0.0), logistic(1e6), logistic(-1e6)) == (0.5, 1.0, 0.0)
    assert logit(0.5) == 0
    assert logit(logistic(3.25)) == pytest.approx(3.25)
    assert (logit(0.0), logit(1.0)) == (float("-inf"), float("inf"))
    assert (logit(-0.5), logit(1.5)) == (float("-inf"), float("inf"))
