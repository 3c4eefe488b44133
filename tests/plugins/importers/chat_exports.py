"""Exports as zips, for the tests of chats."""

from __future__ import annotations

import zipfile
from pathlib import Path


def write_zip(path: Path, files: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, raw in files.items():
            archive.writestr(name, raw)
    return path
