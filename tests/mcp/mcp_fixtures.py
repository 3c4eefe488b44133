"""A vault with the sample memories, and a connection to its server by every way there is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp_doors import DOORS, MODES, Door, fill

WAYS = [(way, mode) for way in DOORS for mode in MODES]


@pytest.fixture(scope="session", params=WAYS, ids=lambda way: "-".join(way))
def door(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Door]:
    """One server and one connection for all tests that can share it."""
    way, mode = request.param
    home: Path = tmp_path_factory.mktemp("home")
    fill(home)
    with DOORS[way](home, mode) as opened:
        yield opened
