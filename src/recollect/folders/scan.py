"""The files of a folder as they are now: all that count, or only those that may have changed."""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from recollect.documents.document import LeftOut, unreadable
from recollect.folders.matcher import Matcher
from recollect.folders.walk import Candidate, Skipped, walk

# Reasons that a person should see with the path; the others are only counted.
TELLING = ("unreadable", "vanished", "link", "special")


class FoundFile(NamedTuple):
    """A file as the file system describes it. `path` is below the folder, with slashes."""

    path: str
    full: Path
    size: int
    changed_ns: int
    inode: int


class Scan(NamedTuple):
    """What a look at a folder found.

    - `files`: the files that count, by path.
    - `left_out`: how many are left out, by reason; `named`: those that a person should see.
    - `unreadable`: paths of which nothing is known: neither that they are there nor that they are
      gone.
    - `paths`: the paths that were looked at, None for all. One that is no file may have been a
      folder, and then all that was in it is gone.
    """

    files: dict[str, FoundFile]
    left_out: Counter[str]
    named: list[tuple[str, LeftOut]]
    unreadable: list[str]
    paths: frozenset[str] | None = None

    def gone(self, path: str) -> bool:
        """Whether a file that was there is not there any more."""
        if path in self.files or not (self.paths is None or self._was_looked_at(path)):
            return False
        return not any(path == hidden or path.startswith(hidden) for hidden in self.unreadable)

    def add(self, file: Candidate) -> None:
        self.files[file.path] = FoundFile(
            file.path, file.full, file.stat.st_size, file.stat.st_mtime_ns, file.stat.st_ino
        )

    def skip(self, entry: Skipped) -> None:
        reason = entry.left_out.reason
        self.left_out[reason] += 1
        if reason in TELLING:
            self.named.append((entry.path, entry.left_out))
        if reason == "unreadable":
            self.unreadable.append("" if entry.path == "./" else entry.path)

    def _was_looked_at(self, path: str) -> bool:
        """Whether the path was looked at, or a folder that it was in."""
        assert self.paths is not None
        while path and path not in self.paths:
            path = path.rpartition("/")[0]
        return bool(path)


def scan_folder(root: Path) -> Scan:
    """Everything below the root."""
    scan = Scan({}, Counter(), [], [])
    for entry in walk(root):
        if isinstance(entry, Skipped):
            scan.skip(entry)
        else:
            scan.add(entry)
    return scan


def scan_file(file: Path) -> Scan:
    """A file that is followed by itself, as a folder that holds nothing else."""
    scan = Scan({}, Counter(), [], [], frozenset((file.name,)))
    try:
        status = file.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return scan
    except OSError as error:
        scan.skip(Skipped(file.name, unreadable(error)))
        return scan
    if stat.S_ISREG(status.st_mode):
        scan.add(Candidate(file.name, file, status))
    return scan


def scan_paths(root: Path, paths: Iterable[str], matcher: Matcher) -> Scan:
    """These files alone, as a walk would find them."""
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
            scan.add(Candidate(path, root / path, status))
    return scan
