"""Batches of items."""

from __future__ import annotations

from itertools import count, islice

from recollect.maths import batched


def test_batches_are_in_order_and_end_by_count_or_size() -> None:
    assert list(batched(range(5), 2)) == [[0, 1], [2, 3], [4]]
    assert list(batched([], 2)) == []
    assert list(batched([1, 9, 3, 3, 3], 3, int, 9)) == [[1, 9], [3, 3, 3]]


def test_only_the_needed_items_are_read() -> None:
    numbers = count()
    assert list(islice(batched(numbers, 3), 2)) == [[0, 1, 2], [3, 4, 5]]
    assert next(numbers) == 6
