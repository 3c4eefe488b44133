"""Worker processes: results in order, and no process or file left, however they end."""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Iterator
from functools import partial

import pytest

from patience import until
from recollect.worker_processes import Workers

SQUARES = [number * number for number in range(12)]


def square() -> partial[int]:
    """A function that any process can import."""
    return partial(pow, exp=2)


def test_results_come_in_the_order_of_the_items_and_no_process_stays() -> None:
    workers = Workers(square(), 2)
    assert list(workers.map(range(12))) == SQUARES
    assert len({process.pid for process in workers._every} - {os.getpid()}) == 2
    assert all(process.returncode is not None for process in workers._every)


def test_what_a_killed_worker_was_to_do_is_done_here() -> None:
    workers = Workers(square(), 2)
    found = workers.map(range(12))
    first = next(found)
    for process in workers._every:
        process.kill()
    assert [first, *found] == SQUARES


def test_a_reader_that_stops_ends_the_workers() -> None:
    workers = Workers(square(), 2)
    found = workers.map(iter(int, 1))  # without end
    assert next(found) == 0
    found.close()  # type: ignore[attr-defined]
    assert all(process.returncode is not None for process in workers._every)


def test_where_the_items_end_with_an_error_those_before_count() -> None:
    def items() -> Iterator[int]:
        yield from range(5)
        raise KeyError("the sixth")

    done: list[int] = []
    with pytest.raises(KeyError, match="the sixth"):
        done.extend(Workers(square(), 2).map(items()))
    assert done == SQUARES[:5]


def test_an_error_of_the_function_is_raised_here() -> None:
    with pytest.raises(ZeroDivisionError):
        list(Workers(partial(operator.truediv, 1), 2).map([1, 0]))


def test_without_another_process_everything_is_done_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    assert list(Workers(square(), 2).map(range(12))) == SQUARES


def test_a_worker_ends_with_the_process_that_started_it() -> None:
    """Its input ends then."""
    workers = Workers(square(), 1)
    process = workers._start()
    assert process is not None
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    until(lambda: process.poll() is not None)
    process.stdout.close()
    assert process.returncode == 0
