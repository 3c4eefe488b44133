"""Which entries of a folder are taken: by name, by kind, and by the ignore rules around them; and
whether a walk would take a single file, for files that are reported as changed."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import NamedTuple

from recollect.checks import is_text
from recollect.documents.document import LeftOut, unreadable
from recollect.folders.ignore_rules import (
    GIT,
    OWN,
    IgnorePatterns,
    IgnoreRules,
    Level,
    read_patterns,
    rules_above,
)

# Other programs' stores and caches: nobody wants their files as memories, and there are many.
NEVER = frozenset(
    ".git .hg .svn .recollect node_modules __pycache__ .obsidian .trash".split()
)  # fmt: skip
# Ignore files are no documents.
RULES = frozenset((GIT, OWN))
# A folder that holds this is a virtual environment of Python.
ENVIRONMENT = "pyvenv.cfg"
IGNORED = LeftOut("ignored")
HIDDEN = LeftOut("hidden")
LINK = LeftOut("link")
SPECIAL = LeftOut("special", "it is neither a file nor a folder")
NOT_UTF8 = LeftOut("unreadable", "its name is not valid UTF-8")
# The status of a path that is gone: an empty file.
GONE = os.stat_result((0o100644, *([0] * 9)))
# The status of a folder that is gone.
GONE_FOLDER = os.stat_result((0o040755, *([0] * 9)))


def reason_to_skip(path: str, status: os.stat_result, rules: IgnoreRules) -> LeftOut | None:
    """Why an entry is left out, or None. The folders above it are taken."""
    is_folder = stat.S_ISDIR(status.st_mode)
    name = path.rpartition("/")[2]
    if name in (NEVER if is_folder else RULES):
        return IGNORED
    ignored = rules.own(path, folder=is_folder)
    if ignored is None and name.startswith("."):
        return HIDDEN
    if ignored is None:
        ignored = rules.git(path, folder=is_folder)
    if ignored:
        return IGNORED
    if is_link(status):
        return LINK
    return None if is_folder or stat.S_ISREG(status.st_mode) else SPECIAL


def is_link(status: os.stat_result) -> bool:
    """True for a symbolic link, and for a junction of Windows."""
    junction = getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", None)
    return stat.S_ISLNK(status.st_mode) or (
        junction is not None and getattr(status, "st_reparse_tag", None) == junction
    )


def joined(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def shown(name: str) -> str:
    """A name whose bytes are not UTF-8, in a form that can be shown and saved."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


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
