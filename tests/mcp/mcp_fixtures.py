"""A vault with the sample memories, and a connection to its server by every way there is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp_sessions import MODES, TRANSPORTS, McpSession, fill

WAYS = [(way, mode) for way in TRANSPORTS for mode in MODES]


@pytest.fixture(scope="session", params=WAYS, ids=lambda way: "-".join(way))
def session(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[McpSession]:
    """One server and one connection for all tests that can share it."""
    way, mode = request.param
    home: Path = tmp_path_factory.mktemp("home")
    fill(home)
    with TRANSPORTS[way](home, mode) as connected:
        yield connected
