"""A file system for one test: it can be full, or read-only even for root."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def own_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """A tmpfs of that size on the folder; the test is skipped where none may be mounted."""
    options = f"size={megabytes}m"
    try:
        made = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True
        )
    except OSError:
        pytest.skip("there is no mount command here")
    if made.returncode:
        pytest.skip("mounting is not permitted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
