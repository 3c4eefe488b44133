"""The calls on the vault `year` answer what they answered when they were recorded."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from commandline import Home
from recorded_interfaces import INTERFACES
from replaying import check, filled_vault, replay

VAULT = "year"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with filled_vault(VAULT, tmp_path_factory.mktemp(VAULT)) as filled:
        yield filled


@pytest.mark.parametrize("interface", INTERFACES)
def test_calls_answer_as_recorded(home: Home, interface: str) -> None:
    check(replay(home, VAULT, interface), VAULT, interface)
