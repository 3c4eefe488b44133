"""A short round of the crash harness; `make soak` runs long ones."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from crash_harness import Place, crash_round
from crash_work import Change, Record, States

from examples import one_in

LANES = (("library", 3), ("library", 2), ("commands", 3), ("server", 2))

if sys.platform == "win32":
    pytest.skip("kill -9 is a matter of POSIX", allow_module_level=True)


def test_the_harness_notices_what_is_lost_altered_or_half_there() -> None:
    record = Record()
    record.done(Change("save", {"a": ("one", True), "b": ("two", True)}))
    record.unsure.append(Change("import", {"b": ("new", True), "c": ("new", True)}))
    kept = record.states
    imported: States = {"b": ("new", True), "c": ("new", True)}
    assert record.problems(kept) == record.problems(kept | imported) == []
    cases: list[tuple[States, str]] = [
        ({"b": ("two", True)}, "a is missing"),
        (kept | {"a": ("on", True)}, "a is live with the text on"),
        (kept | {"a": ("one", False)}, "a is forgotten"),
        (kept | {"c": ("new", True)}, "half of an interrupted import"),
    ]
    for found, why in cases:
        [problem] = record.problems(found)
        assert why in problem
    batches = Record(batch=1)
    batches.unsure += record.unsure
    assert batches.problems({"b": ("new", True)}) == []
    assert len(batches.problems({"c": ("new", True)})) == 1, "They are written in their order."


@pytest.mark.parametrize("seed", range(1, 3, one_in(2)))
def test_killed_processes_lose_nothing_that_they_had_acknowledged(
    tmp_path: Path, seed: int
) -> None:
    tally = crash_round(Place(tmp_path / "home"), seed, LANES)
    assert tally.failures == []
    assert tally.kills >= 10
    assert tally.writes > 20
