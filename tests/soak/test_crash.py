"""A short round of the crash harness; `make soak` runs long ones."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from crash_harness import Place, crash_round

LANES = (("library", 3), ("library", 2), ("commands", 3), ("server", 2))

if sys.platform == "win32":
    pytest.skip("kill -9 is a matter of POSIX", allow_module_level=True)


@pytest.mark.parametrize("seed", [1, 2])
def test_killed_processes_lose_nothing_that_they_had_acknowledged(
    tmp_path: Path, seed: int
) -> None:
    tally = crash_round(Place(tmp_path / "home"), seed, LANES)
    assert tally.failures == []
    assert tally.kills >= 10
    assert tally.writes > 20
