"""Which project a folder belongs to."""

from __future__ import annotations

from pathlib import Path


def project_of(folder: Path) -> str:
    """The project named after the folder, or after its repository's root."""
    for candidate in (folder, *folder.parents):
        if (candidate / ".git").exists():
            return candidate.name
    return folder.name
