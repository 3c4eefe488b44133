"""Whether a walk would take a single file, for files that are reported as changed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from recollect.checks import is_text
from recollect.documents.document import LeftOut, unreadable
from recollect.folders.ignore_rules import (
    GIT,
    OWN,
    IgnorePatterns,
    Level,
    read_patterns,
    rules_above,
)
from recollect.folders.selection import (
    ENVIRONMENT,
    IGNORED,
    NEVER,
    NOT_UTF8,
    joined,
    reason_to_skip,
)

# The status of a path that is gone: an empty file.
GONE = os.stat_result((0o100644, *([0] * 9)))
# The status of a folder that is gone.
GONE_FOLDER = os.stat_result((0o040755, *([0] * 9)))


class _CachedPatterns(NamedTuple):
    """The patterns of an ignore file, and its version when it was read."""

    version: tuple[int, int, int] | None
    patterns: IgnorePatterns


class Matcher:
    """Tells for one path at a time whether `walk` takes it.

    Ignore files are read once each and again when they change. The ones above the root are read
    when the matcher is made.
    """

    def __init__(self, root: Path) -> None:
        self.root = Path(root).resolve()
        self._above = rules_above(self.root)
        self._cache: dict[Path, _CachedPatterns] = {}

    def takes(self, path: str) -> bool:
        """Whether `walk` would yield the file as a candidate. `path` is relative to the root, with
        slashes. For a path that is gone its name decides."""
        return self.left_out(path) is None

    def left_out(self, path: str) -> LeftOut | None:
        """Why it would not be taken, or None."""
        names = path.split("/")
        if any(name in ("", ".", "..") for name in names):
            return LeftOut("unreadable", "it is not a path below the folder")
        if not is_text(path):
            return NOT_UTF8
        rules, folder, here = self._above, self.root, ""
        for depth, name in enumerate(names):
            if depth and (folder / ENVIRONMENT).is_file():
                return IGNORED
            level = Level(self._patterns(folder / GIT), self._patterns(folder / OWN), depth=depth)
            rules = rules.below(level)
            folder, here = folder / name, joined(here, name)
            last = depth == len(names) - 1
            try:
                status = os.lstat(folder)
            except (FileNotFoundError, NotADirectoryError):
                status = GONE if last else GONE_FOLDER
            except (OSError, ValueError) as error:
                return unreadable(error) if isinstance(error, OSError) else NOT_UTF8
            left_out = reason_to_skip(here, status, rules)
            if left_out is not None:
                return left_out
        return None

    def is_rule(self, path: str) -> bool:
        """Whether a change of this file changes which files are taken."""
        name = path.rpartition("/")[2]
        return name in (GIT, OWN, ENVIRONMENT) and not any(
            part in NEVER for part in path.split("/")
        )

    def _patterns(self, file: Path) -> IgnorePatterns:
        version = _version(file)
        cached = self._cache.get(file)
        if cached is None or cached.version != version:
            cached = self._cache[file] = _CachedPatterns(version, read_patterns(file))
        return cached.patterns


def _version(file: Path) -> tuple[int, int, int] | None:
    """Time, size and inode, by which a changed file is told."""
    try:
        status = os.lstat(file)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
