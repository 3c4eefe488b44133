"""The calls on each vault answer what they answered when they were recorded."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from commandline import Home
from recorded_interfaces import INTERFACES
from recorded_vaults import FILL
from replaying import check, filled_vault, replay


@pytest.fixture(scope="module", params=FILL)
def vault_and_home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Home]]:
    with filled_vault(request.param, tmp_path_factory.mktemp(request.param)) as home:
        yield request.param, home


@pytest.mark.parametrize("interface", INTERFACES)
def test_calls_answer_as_recorded(vault_and_home: tuple[str, Home], interface: str) -> None:
    vault, home = vault_and_home
    check(replay(home, vault, interface), vault, interface)
