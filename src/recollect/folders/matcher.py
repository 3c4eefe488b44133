"""Whether one file would be taken, for those who hear of single files that change."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from recollect.checks import is_text
from recollect.documents.document import LeftOut, unreadable
from recollect.folders.ignore_rules import (
    GIT,
    OWN,
    Level,
    Patterns,
    read_patterns,
    rules_above,
)
from recollect.folders.selection import (
    ENVIRONMENT,
    IGNORED,
    NEVER,
    UNSAYABLE,
    joined,
    judged,
)

# What a path that is gone is judged as: a plain file of no size.
GONE = os.stat_result((0o100644, *([0] * 9)))
# As a folder, for what stood above it.
GONE_FOLDER = os.stat_result((0o040755, *([0] * 9)))


class _Seen(NamedTuple):
    """An ignore file as it was when it was read."""

    mark: tuple[int, int, int] | None
    patterns: Patterns


class Matcher:
    """What `walk` takes below a root, one path at a time.

    Ignore files are read once each and again when they change. The ones above the root are read
    when the matcher is made."""

    def __init__(self, root: Path) -> None:
        self.root = Path(root).resolve()
        self._above = rules_above(self.root)
        self._seen: dict[Path, _Seen] = {}

    def takes(self, path: str) -> bool:
        """Whether `walk` would yield the file as a candidate. `path` is relative to the root, with
        slashes. A path that is gone is judged by its name alone."""
        return self.left_out(path) is None

    def left_out(self, path: str) -> LeftOut | None:
        """Why it would not be taken, or None."""
        names = path.split("/")
        if any(name in ("", ".", "..") for name in names):
            return LeftOut("unreadable", "it is not a path below the folder")
        if not is_text(path):
            return UNSAYABLE
        rules, folder, here = self._above, self.root, ""
        for depth, name in enumerate(names):
            if depth and (folder / ENVIRONMENT).is_file():
                return IGNORED
            level = Level(self._patterns(folder / GIT), self._patterns(folder / OWN), depth=depth)
            rules = rules.below(level)
            folder, here = folder / name, joined(here, name)
            last = depth == len(names) - 1
            try:
                found = os.lstat(folder)
            except (FileNotFoundError, NotADirectoryError):
                found = GONE if last else GONE_FOLDER
            except (OSError, ValueError) as error:
                return unreadable(error) if isinstance(error, OSError) else UNSAYABLE
            left_out = judged(here, found, rules)
            if left_out is not None:
                return left_out
        return None

    def is_rule(self, path: str) -> bool:
        """Whether a change of this file changes what is taken."""
        name = path.rpartition("/")[2]
        return name in (GIT, OWN, ENVIRONMENT) and not any(
            part in NEVER for part in path.split("/")
        )

    def _patterns(self, file: Path) -> Patterns:
        mark = _mark(file)
        seen = self._seen.get(file)
        if seen is None or seen.mark != mark:
            seen = self._seen[file] = _Seen(mark, read_patterns(file))
        return seen.patterns


def matcher(root: Path) -> Matcher:
    return Matcher(root)


def _mark(file: Path) -> tuple[int, int, int] | None:
    try:
        found = os.lstat(file)
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
