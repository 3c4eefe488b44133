"""What every test can ask for, and where its files are.

The fixtures of a folder are a module of their own name there: mypy checks all files in one run only
where no two have the same name.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest_plugins = ("browser_fixtures", "mcp_fixtures", "planned_search")

# A new vault costs 40 ms on a disk, which must say each time that it is written, and 4 ms here.
MEMORY = Path("/dev/shm")
ROOM = 2 << 30  # bytes, several times what a run needs; containers often have 64 MB there


def pytest_configure() -> None:
    """Temporary files of a run, and of what it starts, in memory where there is enough."""
    if "TMPDIR" not in os.environ and in_memory():
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None  # look again


def in_memory() -> bool:
    if not os.access(MEMORY, os.W_OK) or os.statvfs(MEMORY).f_flag & os.ST_NOEXEC:
        return False
    return shutil.disk_usage(MEMORY).free >= ROOM


@pytest.fixture
def disk_path() -> Iterator[Path]:
    """A temporary folder on a disk, for what is about writing slowly or not at all."""
    with tempfile.TemporaryDirectory(dir="/var/tmp", prefix="recollect-") as folder:
        yield Path(folder)
