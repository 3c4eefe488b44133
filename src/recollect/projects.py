"""Which project a folder belongs to."""

from __future__ import annotations

import os
from pathlib import Path


def project_of(folder: Path) -> str:
    """Return the name of the repository that the folder is in, or of the folder itself. A worktree
    belongs to its repository."""
    for candidate in (folder, *folder.parents):
        git = candidate / ".git"
        if git.exists():
            return (_repository(git) if git.is_file() else "") or candidate.name
    return folder.name


def _repository(git: Path) -> str:
    """Return the name of the repository of a worktree, whose `.git` is a file that names its git
    directory; empty for a submodule, which has no common directory with another."""
    try:
        own = git.parent / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        written = (own / "commondir").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        return ""
    common = Path(os.path.normpath(own / written))
    # `repo/.git`, `repo/.bare`, or `repo.git`
    return common.parent.name if common.name.startswith(".") else common.stem
