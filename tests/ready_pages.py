"""The templates of the pages are compiled once in a run, whichever process shows them first."""

from __future__ import annotations

from pathlib import Path

from jinja2 import FileSystemBytecodeCache

from recollect.interfaces.web.rendering import environment


def set_up(folder: Path) -> None:
    """From now on, in this process and its forks."""
    environment().bytecode_cache = FileSystemBytecodeCache(str(folder))
