"""Where the home is: as platformdirs says, which is imported only where there is doubt."""

from __future__ import annotations

import os
from pathlib import Path
from unittest import mock

import pytest
from platformdirs import user_data_dir

from recollect.home import home_path
from recollect.settings_reading import home_folder


@pytest.mark.parametrize(
    "environment",
    [
        {"HOME": "/home/ada"},
        {"HOME": "/home/ada", "XDG_DATA_HOME": ""},
        {"HOME": "/home/ada", "XDG_DATA_HOME": "/srv/data"},
        {"HOME": "/home/ada", "XDG_DATA_HOME": "relative"},
        {"XDG_DATA_HOME": "/srv/data/"},
        {"HOME": "relative"},
        {},
    ],
    ids=repr,
)
def test_without_a_setting_it_is_the_users_data_folder(environment: dict[str, str]) -> None:
    with mock.patch.dict(os.environ, environment, clear=True):
        wanted = Path(user_data_dir("recollect", appauthor=False))
        assert Path(home_path(os.environ)) == home_folder(os.environ) == wanted


def test_the_setting_names_it_and_may_begin_with_a_tilde() -> None:
    with mock.patch.dict(os.environ, {"HOME": "/home/ada", "XDG_DATA_HOME": "/srv"}, clear=True):
        assert home_path({"RECOLLECT_HOME": "/srv/memories"}) == "/srv/memories"
        assert home_path({"RECOLLECT_HOME": "~/memories"}) == "/home/ada/memories"
