"""Work in parts."""

from __future__ import annotations

from itertools import count, islice

from recollect.maths import parts


def test_items_come_in_order_so_many_at_a_time() -> None:
    assert list(parts(range(5), 2)) == [[0, 1], [2, 3], [4]]
    assert list(parts([], 2)) == []


def test_a_part_ends_where_its_items_are_large_enough_together() -> None:
    assert list(parts([1, 9, 3, 3, 3], 3, int, 9)) == [[1, 9], [3, 3, 3]]


def test_no_more_is_read_than_is_asked_for() -> None:
    numbers = count()
    assert list(islice(parts(numbers, 3), 2)) == [[0, 1, 2], [3, 4, 5]]
    assert next(numbers) == 6
