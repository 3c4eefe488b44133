"""Scanning a folder: all its files, or only those that may have changed.

Left out are, in this order: folders that are never entered (`NEVER`, and virtual environments);
entries in `.recollectignore`; hidden entries, unless `.recollectignore` includes them with `!`;
entries in `.gitignore`; and links, which are never followed, to avoid files from outside and loops.
A folder that is left out counts as one entry, and nothing in it can be included again.
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from recollect.checks import is_text
from recollect.documents.document import LeftOut, unreadable
from recollect.folders.ignore_rules import (
    GIT,
    NONE,
    OWN,
    IgnorePatterns,
    IgnoreRules,
    Level,
    read_patterns,
    rules_above,
)

# Stores and caches of other programs, with many files that are not documents.
NEVER = frozenset(
    ".git .hg .svn .recollect node_modules __pycache__ .obsidian .trash".split()
)  # fmt: skip
# Ignore files are not documents.
RULES = frozenset((GIT, OWN))
ENVIRONMENT = "pyvenv.cfg"  # marks a virtual environment of Python
IGNORED = LeftOut("ignored")
HIDDEN = LeftOut("hidden")
LINK = LeftOut("link")
SPECIAL = LeftOut("special", "it is neither a file nor a folder")
NOT_UTF8 = LeftOut("unreadable", "its name is not valid UTF-8")
# The status assumed for a file and a folder that are gone.
GONE = os.stat_result((0o100644, *([0] * 9)))
GONE_FOLDER = os.stat_result((0o040755, *([0] * 9)))
# Reasons that are reported with the path; the others are only counted.
REPORTED = ("unreadable", "vanished", "link", "special")


def reason_to_skip(path: str, status: os.stat_result, rules: IgnoreRules) -> LeftOut | None:
    """Return the reason why an entry is left out, or None. The folders above it are not."""
    is_folder = stat.S_ISDIR(status.st_mode)
    name = path.rpartition("/")[2]
    if name in (NEVER if is_folder else RULES):
        return IGNORED
    ignored = rules.decide(OWN, path, folder=is_folder)
    if ignored is None and name.startswith("."):
        return HIDDEN
    if ignored is None:
        ignored = rules.decide(GIT, path, folder=is_folder)
    if ignored:
        return IGNORED
    if is_link(status):
        return LINK
    return None if is_folder or stat.S_ISREG(status.st_mode) else SPECIAL


def is_link(status: os.stat_result) -> bool:
    """Return True for a symbolic link or a junction of Windows."""
    junction = getattr(stat, "IO_REPARSE_TAG_MOUNT_POINT", None)
    return stat.S_ISLNK(status.st_mode) or (
        junction is not None and getattr(status, "st_reparse_tag", None) == junction
    )


def join_path(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


def printable(name: str) -> str:
    """Return a name that is not UTF-8 in a form that can be shown and saved."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


class _CachedPatterns(NamedTuple):
    """The patterns of an ignore file, and its version when it was read."""

    version: tuple[int, int, int] | None
    patterns: IgnorePatterns


class Matcher:
    """Decides for single paths whether `walk` would yield them.

    Ignore files are cached and read again when they change. Those above the root are read once.
    """

    def __init__(self, root: Path) -> None:
        self.root = Path(root).resolve()
        self._above = rules_above(self.root)
        self._cache: dict[Path, _CachedPatterns] = {}

    def takes(self, path: str) -> bool:
        """Return True if `walk` would yield the file. `path` is relative to the
        root, with slashes. If it is gone, its name decides."""
        return self.left_out(path) is None

    def left_out(self, path: str) -> LeftOut | None:
        """Return the reason why it would be left out, or None."""
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
            folder, here = folder / name, join_path(here, name)
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
        """Return True if a change of this file changes which files are taken."""
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
    """Return time, size and inode of a file, to detect changes."""
    try:
        status = os.lstat(file)
    except (OSError, ValueError):
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


class Skipped(NamedTuple):
    """A file or folder (with a slash at its end) that is left out, and why; or an ignore file with
    a line that is not used."""

    path: str
    left_out: LeftOut


class FoundFile(NamedTuple):
    """A file to read. `path` is below the root, with slashes; `full` is its full path."""

    path: str
    full: Path
    size: int
    changed_ns: int
    inode: int


def found_file(path: str, full: Path, status: os.stat_result) -> FoundFile:
    return FoundFile(path, full, status.st_size, status.st_mtime_ns, status.st_ino)


class Scan(NamedTuple):
    """The result of scanning a folder.

    - `files`: the files to read, by path.
    - `left_out`: how many are left out, by reason; `named`: those to report.
    - `unreadable`: paths that may exist or not.
    - `paths`: the scanned paths, None for all. A path that is not a file may have been a folder,
      whose content is then gone.
    """

    files: dict[str, FoundFile]
    left_out: Counter[str]
    named: list[tuple[str, LeftOut]]
    unreadable: list[str]
    paths: frozenset[str] | None = None

    def gone(self, path: str) -> bool:
        """Return True if a known file no longer exists."""
        if path in self.files or not (self.paths is None or self._was_scanned(path)):
            return False
        return not any(path == hidden or path.startswith(hidden) for hidden in self.unreadable)

    def add(self, file: FoundFile) -> None:
        self.files[file.path] = file

    def skip(self, entry: Skipped) -> None:
        reason = entry.left_out.reason
        self.left_out[reason] += 1
        if reason in REPORTED:
            self.named.append((entry.path, entry.left_out))
        if reason == "unreadable":
            self.unreadable.append("" if entry.path == "./" else entry.path)

    def _was_scanned(self, path: str) -> bool:
        """Return True if the path, or a folder above it, was scanned."""
        assert self.paths is not None
        while path and path not in self.paths:
            path = path.rpartition("/")[0]
        return bool(path)


def scan_folder(root: Path) -> Scan:
    """Scan everything below the root."""
    scan = Scan({}, Counter(), [], [])
    for entry in walk(root):
        if isinstance(entry, Skipped):
            scan.skip(entry)
        else:
            scan.add(entry)
    return scan


def scan_file(file: Path) -> Scan:
    """Scan a single file that is followed, like a folder with only this file."""
    scan = Scan({}, Counter(), [], [], frozenset((file.name,)))
    try:
        status = file.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return scan
    except OSError as error:
        scan.skip(Skipped(file.name, unreadable(error)))
        return scan
    if stat.S_ISREG(status.st_mode):
        scan.add(found_file(file.name, file, status))
    return scan


def scan_paths(root: Path, paths: Iterable[str], matcher: Matcher) -> Scan:
    """Scan only these files."""
    scan = Scan({}, Counter(), [], [], frozenset(paths))
    for path in sorted(scan.paths or ()):
        left_out = matcher.left_out(path)
        try:
            status = (root / path).lstat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            left_out = unreadable(error)
            status = None
        if left_out is not None:
            scan.skip(Skipped(path, left_out))
        elif status is not None and stat.S_ISREG(status.st_mode):
            scan.add(found_file(path, root / path, status))
    return scan


class _Folder(NamedTuple):
    """A folder to list: its path below the root, empty for the root, and the rules from above."""

    path: str
    full: Path
    rules: IgnoreRules
    depth: int


def walk(root: Path) -> Iterator[FoundFile | Skipped]:
    """Yield each entry below the root, in the order of names in each folder."""
    root = Path(root).resolve()
    waiting: list[_Folder | FoundFile | Skipped] = [_Folder("", root, rules_above(root), 0)]
    while waiting:
        entry = waiting.pop()
        if isinstance(entry, _Folder):
            waiting.extend(reversed(_entries(entry)))
        else:
            yield entry


def _entries(folder: _Folder) -> list[_Folder | FoundFile | Skipped]:
    """Return the entries of a folder."""
    try:
        with os.scandir(folder.full) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        return [Skipped(f"{folder.path or '.'}/", unreadable(error))]
    names = {entry.name for entry in entries}
    if ENVIRONMENT in names and folder.path:
        return [Skipped(f"{folder.path or '.'}/", IGNORED)]
    git, own = (read_patterns(folder.full / name) if name in names else NONE for name in (GIT, OWN))
    level = Level(git, own, depth=folder.depth)
    inside = folder._replace(rules=folder.rules.below(level))
    others = (entry for entry in entries if entry.name not in RULES)
    problems = (
        Skipped(join_path(folder.path, name), LeftOut("unreadable", problem))
        for name, patterns in ((GIT, git), (OWN, own))
        for problem in patterns.problems
    )
    return [*problems, *(_entry(inside, entry) for entry in others)]


def _entry(folder: _Folder, entry: os.DirEntry[str]) -> _Folder | FoundFile | Skipped:
    """Return an entry as a folder to list, a file to read, or neither."""
    if not is_text(entry.name):
        return Skipped(printable(join_path(folder.path, entry.name)), NOT_UTF8)
    path = join_path(folder.path, entry.name)
    try:
        status = entry.stat(follow_symlinks=False)
    except FileNotFoundError:
        return Skipped(path, LeftOut("vanished"))
    except OSError as error:
        return Skipped(path, unreadable(error))
    is_folder = stat.S_ISDIR(status.st_mode)
    left_out = reason_to_skip(path, status, folder.rules)
    if left_out is not None:
        return Skipped(f"{path}/" if is_folder else path, left_out)
    full = folder.full / entry.name
    if is_folder:
        return _Folder(path, full, folder.rules, folder.depth + 1)
    return found_file(path, full, status)
