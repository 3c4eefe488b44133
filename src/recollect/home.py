"""The path of the home folder. Every command needs it first, so this imports next to nothing."""
# ruff: noqa: PTH111, PTH118  start-up time: without pathlib

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # what typing.TYPE_CHECKING is, without the time to import typing
if TYPE_CHECKING:
    from collections.abc import Mapping


def home_path(environment: Mapping[str, str]) -> str:
    """Return `RECOLLECT_HOME`, or the platform's user data directory."""
    if folder := environment.get("RECOLLECT_HOME"):
        return os.path.expanduser(folder)
    if sys.platform == "linux" and "ANDROID_ROOT" not in environment:
        # Like platformdirs in the usual case; importing it takes longer than starting Python.
        data, own = environment.get("XDG_DATA_HOME", ""), environment.get("HOME", "")
        if data.startswith("/"):
            return os.path.join(data, "recollect")
        if own.startswith("/") and not data:
            return os.path.join(own, ".local/share/recollect")
    from platformdirs import user_data_dir  # noqa: PLC0415  start-up time: rarely needed

    return user_data_dir("recollect", appauthor=False)
