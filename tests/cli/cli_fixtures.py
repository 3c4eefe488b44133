"""A home for a command, and the sample memories, which tests only read."""

from __future__ import annotations

from pathlib import Path

import pytest
from commandline import NOW, Home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home", RECOLLECT_NOW=NOW)


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Home:
    """The sample memories, without a model."""
    home = Home(tmp_path_factory.mktemp("demo") / "home", RECOLLECT_NOW=NOW)
    assert home.call("demo", "--keep", str(home.folder)).code == 0
    return home
